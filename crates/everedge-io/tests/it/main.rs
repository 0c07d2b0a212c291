//! Every format and generator through the public interface.

mod edge_list;
mod generators;
mod support;
