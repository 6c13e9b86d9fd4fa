"""One thin module per subcommand; each offers `command`, a click command."""
