// The page of a plan by keyboard: verdicts are saved as they are given, one after the other, and the next card is there before it is asked.
// Everything here can also be done by the links and forms of the page.

const desk = document.querySelector("[data-plan]");
if (desk) start(desk);

function start(desk) {
  const below = (/^\/s\/[0-9a-f]+/.exec(location.pathname) ?? [""])[0]; // of the session: see session.js
  const plan = `${below}/plans/${desk.dataset.plan}`;
  const token = desk.dataset.formToken;
  const card = document.querySelector("#card");
  const told = document.querySelector("#told");
  const note = document.querySelector("#note");
  const fold = document.querySelector("#fold");
  const narrow = matchMedia("(max-width: 860px)");
  const help = document.querySelector("#help");
  const keysOn = document.querySelector("#keys-on");
  const search = document.querySelector("#search");
  const decided = document.querySelector("#decided");
  const rows = [...document.querySelectorAll("#queue a[data-item]")];
  const signs = { open: "○", yes: "✓", no: "✕", skip: "–", answered: "●" };
  const tallied = document.querySelector("#tally");
  let tally = JSON.parse(tallied.dataset.tally); // of all questions of the plan, by the name of the answer
  const counts = JSON.parse(desk.dataset.counts); // of all questions of the plan, by verdict
  const cards = new Map();
  const fromServer = new Map(); // item → the verdict, answer and amended plan that the server is known to have
  let current = rows.find((row) => row.getAttribute("aria-current") === "true") ?? null;
  let saving = Promise.resolve();
  let unsaved = 0;
  let failed = false; // an answer was not saved since the link to sign was pressed
  let follows = ""; // a plan of this session with open questions, once this one has none
  let answered = false; // a question was answered here that was open, so the page may lead on
  let leaving = false; // the page is on its way to another one: what is pressed now is meant for that one

  const known = ({ verdict, answer, amended = "" }) => ({ verdict, answer, amended });
  const unanswered = { verdict: "open", note: "", said: "open", answer: "open", amended: "" };
  for (const row of rows) fromServer.set(row.dataset.item, known(row.dataset));
  if (current) {
    cards.set(current.dataset.item, Promise.resolve(card.innerHTML));
    current.scrollIntoView({ block: "nearest" });
  }
  keysOn.checked = localStorage.getItem("slowwave-keys") !== "off";

  // --- cards ---------------------------------------------------------------------------------------------------------------------

  function fetchCard(item) {
    if (!cards.has(item)) {
      const coming = ask("GET", `${plan}/items/${item}`).then((answer) => answer.text());
      coming.catch(() => cards.delete(item));
      cards.set(item, coming);
    }
    return cards.get(item);
  }

  async function show(row, { focus = false } = {}) {
    if (!row) return;
    keepNote();
    current?.removeAttribute("aria-current");
    current = row;
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
    note.value = row.dataset.note ?? "";
    if (focus) row.focus();
    pressed();
    card.setAttribute("aria-busy", "true");
    const address = new URL(location.href);
    address.searchParams.set("item", row.dataset.item);
    history.replaceState(null, "", address);
    document.querySelectorAll("input[name=item]").forEach((field) => (field.value = row.dataset.item));
    const sample = document.querySelector("#alike");
    if (sample) sample.href = `${plan}/alike?item=${row.dataset.item}`;
    try {
      const html = await fetchCard(row.dataset.item);
      if (current !== row) return;
      card.replaceChildren(...parsed(html));
      card.scrollTop = 0;
    } catch (problem) {
      if (current === row) say(problem.message, true);
    } finally {
      if (current === row) card.removeAttribute("aria-busy");
    }
    prefetch();
  }

  function parsed(html) {
    return new DOMParser().parseFromString(html, "text/html").body.childNodes; // escaped by the server; scripts in it would not run
  }

  function prefetch() {
    const row = following(current);
    if (row) fetchCard(row.dataset.item).catch(() => {});
  }

  // --- which is next -------------------------------------------------------------------------------------------------------------

  const seen = () => rows.filter((row) => !row.hidden);

  function beside(step) {
    const list = seen();
    return list[Math.min(Math.max(list.indexOf(current) + step, 0), list.length - 1)];
  }

  function following(from) {
    const list = seen();
    const at = list.indexOf(from);
    const open = (row) => row.dataset.verdict === "open" && row !== from;
    return list.slice(at + 1).find(open) ?? list.slice(0, Math.max(at, 0)).find(open) ?? null;
  }

  // --- verdicts ------------------------------------------------------------------------------------------------------------------

  const buttons = () => [...document.querySelectorAll("#answer button[name=verdict]")];

  function answerBy(key) {
    if (current && "saving" in current.dataset && !following(current)) { // the key is meant for the question that follows this last one
      say(`${title(current)}: your answer is being saved.`);
      return;
    }
    const button = buttons().find((one) => !one.hidden && one.getAttribute("aria-keyshortcuts") === key);
    if (button) answer(button.value);
    else if (key === "y" || key === "n") { // of a question with answers of its own
      const plain = buttons().find((one) => !one.hidden && !("amends" in one.dataset) && one.dataset.draft === (key === "y" ? "yes" : "no"));
      if (plain) answer(plain.value);
    }
  }

  function answer(name) {
    const row = current;
    if (!row || leaving) return;
    const text = note.value.trim();
    const button = buttons().find((one) => one.value === name);
    const verdict = button.dataset.draft;
    const label = button.dataset.label;
    save(row, { verdict, answer: label, amended: "amends" in button.dataset ? "new" : "" }, text, name);
    const next = following(row);
    if (next) {
      say(`${title(row)}: ${label}. Next: ${title(next)}`);
      show(next, { focus: rows.includes(document.activeElement) }); // else the ring stays on the row that was answered
    } else {
      pressed();
      const more = document.querySelector("#next-page");
      const later = document.querySelector("#later");
      const rest = more ? "Nothing is open on this page; the next one has more." : later ? `Nothing is open here. ${later.textContent}.` : "Nothing is open here. Sign when you are ready.";
      say(`${title(row)}: ${label}. ${rest}`);
    }
  }

  function save(row, draft, text, name) {
    mark(row, { ...draft, note: text });
    row.dataset.saving = Number(row.dataset.saving ?? 0) + 1;
    later(async () => {
      const drafts = [{ item: row.dataset.item, verdict: name, note: text }];
      try {
        const made = await (await ask("POST", `${plan}/drafts`, { drafts })).json();
        answered ||= Boolean(made.follow_ups) || (name !== "note" && fromServer.get(row.dataset.item)?.verdict === "open");
        const saved = { ...draft, amended: made.amended ?? (name === "note" ? draft.amended : "") };
        fromServer.set(row.dataset.item, saved);
        if (row.dataset.answer === draft.answer) row.dataset.amended = saved.amended;
        if (row === current) pressed();
        if (made.amended || made.follow_ups) cards.delete(row.dataset.item);
        if (made.problem) say(made.problem, true);
        if (unsaved === 1) await meanwhile(); // what looks decided now; a burst of answers asks once
      } catch (problem) {
        failed = true;
        mark(row, { ...(fromServer.get(row.dataset.item) ?? unanswered), note: text });
        say(`Not saved: ${title(row)}. ${problem.message}`, true);
      } finally {
        if ((row.dataset.saving -= 1) < 1) delete row.dataset.saving;
      }
    });
  }

  function leave(address) {
    leaving = true;
    location.href = address;
  }

  function keepNote() {
    if (current && !leaving && current.dataset.verdict !== "open" && note.value.trim() !== (current.dataset.note ?? "")) {
      save(current, known(current.dataset), note.value.trim(), "note"); // the answer stays as it is
    }
  }

  function undo() {
    later(async () => {
      try {
        const answer = await (await ask("POST", `${plan}/undo`, {})).json();
        for (const [item, draft] of Object.entries(answer.drafts)) {
          const row = rows.find((one) => one.dataset.item === item);
          if (row) { fromServer.set(item, known(draft)); mark(row, draft); }
        }
        const back = rows.find((one) => one.dataset.item in answer.drafts);
        const many = Object.keys(answer.drafts).length;
        say(many ? `Taken back: ${back ? title(back) : `${many} verdicts`}.` : "You have no verdict here to take back.");
        if (back) show(back, { focus: rows.includes(document.activeElement) });
      } catch (problem) {
        say(problem.message, true);
      }
    });
  }

  function later(work) {
    unsaved += 1;
    busy();
    saving = saving.then(work).finally(() => {
      unsaved -= 1;
      if (!unsaved && !leaving && answered && follows && !rows.some((one) => one.dataset.verdict === "open")) {
        leave(`${below}/plans/${follows}`); // the questions that follow from these answers
      }
      busy();
    });
  }

  function busy() {
    desk.setAttribute("aria-busy", String(unsaved > 0 || leaving));
  }

  addEventListener("beforeunload", (event) => { if (unsaved && !leaving) event.preventDefault(); });
  addEventListener("pageshow", (event) => { if (event.persisted) { leaving = false; busy(); } }); // the browser's way back

  // What a colleague decided meanwhile is shown when one comes back to the page.
  addEventListener("focus", () => later(meanwhile));

  async function meanwhile() {
    try {
      const { drafts, counts: now, tally: answers, look_decided: alike, next } = await (await ask("GET", `${plan}/drafts`)).json();
      for (const row of rows) {
        const draft = drafts[row.dataset.item] ?? unanswered;
        const before = fromServer.get(row.dataset.item);
        if (draft.verdict !== before.verdict || draft.answer !== before.answer) {
          fromServer.set(row.dataset.item, known(draft));
          mark(row, draft);
          if (row === current) say(`Answered meanwhile: ${draft.said}.`);
        }
      }
      decided.hidden = alike === 0;
      decided.querySelector("#decided-count").textContent = alike.toLocaleString("en");
      if (unsaved > 1) return; // verdicts that are on their way are counted already
      follows = next;
      Object.assign(counts, now);
      tally = answers;
      count();
    } catch { /* the next verdict will say what is wrong */ }
  }

  // --- what is shown -------------------------------------------------------------------------------------------------------------

  function mark(row, { verdict, answer, amended = "", note: text, said = answer }) {
    if (row.dataset.verdict !== verdict) {
      counts[row.dataset.verdict] -= 1;
      counts[verdict] += 1;
      const open = row.closest(".group").querySelector(".open");
      open.textContent = Number(open.textContent) + (verdict === "open") - (row.dataset.verdict === "open");
    }
    if (row.dataset.answer in tally) tally[row.dataset.answer] -= 1;
    if (answer !== "open") tally[answer] = (tally[answer] ?? 0) + 1;
    const own = ("sides" in row.dataset || amended) && (verdict === "yes" || verdict === "no"); // neither a yes nor a no
    row.dataset.verdict = verdict;
    row.dataset.answer = answer;
    row.dataset.amended = amended;
    row.dataset.note = text ?? "";
    row.dataset.sign = own ? "answered" : verdict;
    row.querySelector(".sign").textContent = signs[row.dataset.sign];
    row.querySelector(".state").textContent = said;
    if (row === current) pressed();
    count();
  }

  function pressed() {
    const offered = (current?.dataset.answers ?? "").split(" ");
    for (const button of buttons()) {
      button.hidden = !offered.includes(button.value);
      const said = current?.dataset.answer === button.dataset.label;
      button.setAttribute("aria-pressed", String(said));
    }
  }

  function count() {
    for (const [name, number] of Object.entries(counts)) {
      for (const place of document.querySelectorAll(`[data-count=${name}]`)) place.textContent = number.toLocaleString("en");
    }
    const parts = Object.entries(tally).map(([name, number]) => {
      const place = document.createElement("span");
      place.dataset.answers = name;
      place.textContent = number.toLocaleString("en");
      return [place, ` ${name}`];
    });
    tallied.replaceChildren(...parts.flatMap((part, n) => (n ? [" · ", ...part] : part)));
    document.querySelector("#far").value = counts.yes + counts.no + counts.skip;
  }

  function say(message, failed = false) {
    told.classList.toggle("failed", failed);
    told.textContent = message;
  }

  const title = (row) => row.querySelector(".title").textContent.trim();

  async function ask(method, address, body) {
    const headers = { accept: "application/json, text/html" };
    if (body !== undefined) Object.assign(headers, { "content-type": "application/json", "x-form-token": token });
    let answer;
    try {
      answer = await fetch(address, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      throw new Error("The page's server does not answer. Is `slowwave review` still running?");
    }
    if (!answer.ok) {
      const said = await answer.json().catch(() => ({}));
      throw new Error(said.message ?? `The server answered ${answer.status}.`);
    }
    return answer;
  }

  // --- keys, buttons, links --------------------------------------------------------------------------------------------------------

  const keys = {
    ...Object.fromEntries(["y", "n", "s", "1", "2", "3", "b", "0"].map((key) => [key, () => answerBy(key)])),
    u: undo,
    j: () => show(beside(1), { focus: true }),
    k: () => show(beside(-1), { focus: true }),
    a: () => { const link = document.querySelector("#alike"); if (link) saving.then(() => link.click()); },
    d: () => saving.then(() => (decided.hidden ? say("Nothing looks decided yet.") : decided.click())),
    x: () => follow("x"),
    e: () => follow("e"),
    "/": () => { fold.open = true; search.focus(); search.select(); },
    "?": () => help.showModal(),
  };

  function follow(key) {
    const link = card.querySelector(`a[data-key=${key}]`);
    if (link) saving.then(() => link.click());
    else say(key === "x" ? "Nothing can be taken out of this one." : "This one proposes no text.");
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.key === "Escape" && typing) {
      if (typing === search) search.value = "";
      typing.blur();
      return;
    }
    if (typing || !keysOn.checked || event.repeat || leaving) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) { event.preventDefault(); act(); }
  });

  keysOn.addEventListener("change", () => localStorage.setItem("slowwave-keys", keysOn.checked ? "on" : "off"));
  document.querySelector("#show-help").addEventListener("click", () => help.showModal());
  document.querySelector("#answer").addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter?.value) answer(event.submitter.value);
  });
  document.querySelector("#undo").addEventListener("submit", (event) => { event.preventDefault(); undo(); });
  note.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); note.blur(); } });
  note.addEventListener("blur", keepNote);
  for (const event of ["input", "search", "blur"]) search.addEventListener(event, filter); // Escape empties a search without an input event
  function filter() {
    const wanted = search.value.trim().toLowerCase();
    for (const row of rows) row.hidden = wanted !== "" && !`${row.textContent} ${row.dataset.words}`.toLowerCase().includes(wanted);
    for (const group of document.querySelectorAll("#queue .group")) {
      group.hidden = ![...group.querySelectorAll("a[data-item]")].some((row) => !row.hidden);
    }
  }
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      show(row);
    });
  }
  document.addEventListener("click", (event) => { // a link that leaves the page waits until its answers are saved
    const link = event.target.closest("a[href]");
    const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || link?.target;
    if (!unsaved || !link || elsewhere || event.defaultPrevented || link.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    failed = false;
    say("Your answers are being saved. The page that you asked for opens then.");
    const ready = () => { // answers that were given meanwhile are waited for as well
      if (unsaved) saving.then(ready);
      else if (!leaving && !failed) leave(link.href);
    };
    ready();
  });
  narrow.addEventListener("change", () => { fold.open = !narrow.matches; });
  fold.open = !narrow.matches;
  prefetch();
}

// Forms that write for a while say so, and are sent once.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    form.querySelector("[role=status]").textContent = form.dataset.busy;
    setTimeout(() => { button.disabled = true; });
  });
}
