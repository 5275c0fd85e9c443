"""The `cbn` command. Each subcommand is a module that is imported when it is called."""
