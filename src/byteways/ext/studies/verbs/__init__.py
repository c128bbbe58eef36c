"""The verb `reproduce`, and the option --beside."""
