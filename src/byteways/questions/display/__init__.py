"""Tables, charts and pictures as plain data, which `show` and the report render."""
