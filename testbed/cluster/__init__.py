"""The room of the third world, real hosts that Ansible provisions. Nothing lives here yet."""
