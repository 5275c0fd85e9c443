"""The subcommands of `cbn`, a module each, found by the module's name (`testbed.cli.command`)."""
