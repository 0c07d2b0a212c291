//! Frames and reads into them, seen from outside.

mod frames;
mod reads;
