mod battery;
mod model;
