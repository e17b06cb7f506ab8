#!/bin/sh
# A folder of Markdown in git: connect it, plan, read the changes, approve, apply (one commit) and undo.
# It needs git and `slowwave` on the PATH, works in a folder of its own, and leaves your notes alone.
set -eu

folder=$(mktemp -d)
mkdir "$folder/people"
cat > "$folder/people/bob.md" <<'NOTES'
# Bob

- Bob prefers email over Slack.
- Bob likes tea.
- Bob prefers email over Slack.
NOTES
cat > "$folder/deploy.md" <<'NOTES'
# Deploy

- We deploy on Tuesdays.
- We deploy on Thursdays now, no longer on Tuesdays.
NOTES
git -C "$folder" init -q
git -C "$folder" add -A
git -C "$folder" -c user.name=example -c user.email=example@example.com commit -qm "Write some notes"

slowwave connect folder "$folder" --name vaultexample
slowwave night vaultexample # shows what it would propose: the folder is only read
slowwave connect write vaultexample
slowwave night vaultexample --force
slowwave plans diff vaultexample
plan=$(slowwave plans list vaultexample --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["plan_hash"])')
slowwave plans approve vaultexample "$plan" --by example # the decided items; the question about the day stays open
slowwave apply vaultexample
cat "$folder/people/bob.md"
slowwave undo vaultexample last
git -C "$folder" log --oneline
