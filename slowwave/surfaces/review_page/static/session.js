// Keeps the address of a session where pages of this very port alone can read it, so that a link to a plan without that address (from
// Dagster, from a bookmark) still leads there. Without scripts the page that the printed link opened goes on to work.

const KEY = "slowwave-review-address";
const given = document.querySelector('meta[name="session-address"]');
if (given) {
  localStorage.setItem(KEY, given.content);
} else if (!location.pathname.startsWith("/s/")) {
  const known = localStorage.getItem(KEY);
  const wanted = location.pathname === "/enter" ? "/" : location.pathname + location.search; // a link that was used already
  if (known) location.replace(known + wanted);
}
