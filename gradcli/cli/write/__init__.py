"""What writes: records and reports, to terminals, pipes and files."""
