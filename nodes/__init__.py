"""What runs on a node of a content-based network: model, wire format, routing, daemon, client."""

from nodes import compiled as compiled  # before all others: it decides how they are imported
