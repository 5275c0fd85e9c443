"""What runs on a node of a content-based network: model, wire format, routing, daemon, client."""
