"""World `cluster`: machines reached over SSH, and which node runs on which of them."""
