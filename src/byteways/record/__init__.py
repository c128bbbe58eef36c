"""What a run folder contains: types, reading, checking and exporting of records and manifests."""
