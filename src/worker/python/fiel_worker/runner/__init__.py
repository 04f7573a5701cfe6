"""The process that runs one side of a judgement: a trusted reference or a hostile candidate."""
