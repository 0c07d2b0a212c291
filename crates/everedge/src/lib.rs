//! A durable live graph.
