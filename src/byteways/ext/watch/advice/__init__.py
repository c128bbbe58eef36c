"""What a program would gain by other ways to move its bytes: its bins beside a run of the machine."""
