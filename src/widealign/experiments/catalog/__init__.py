"""The specs. Every `Experiment` named at the top of a module here is enrolled by itself."""
