"""The commands of the command line, by subject; imports wait for their command."""
