"""Resources of assets, jobs and sensors: the store, and the files of a night. They hold no asset logic."""
