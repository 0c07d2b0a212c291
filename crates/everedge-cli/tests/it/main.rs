mod hostile;
mod reference;
