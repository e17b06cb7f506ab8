"""What assets, jobs and sensors are given: the store, and the files of a night. No asset logic."""
