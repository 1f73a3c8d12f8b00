// The explorer's page. Words come from files that anybody may have written: they become text nodes, never HTML.
"use strict";

const find = (id) => document.getElementById(id);
const state = {
  side: "source", status: null, word: null, asked: 0, waiting: null, late: null, correcting: null, watching: null,
  measured: null, right: new Set(),
};
const other = (side) => (side === "source" ? "target" : "source");

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A word in any script, which changes the direction of nothing around it.
const wordNode = (word, side) => element("bdi", { dir: "auto", class: side }, word);
const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const percent = (value) => `${(100 * value).toFixed(1)} %`;

async function ask(path, options = {}) {
  let answer;
  try { answer = await fetch(path, options); } catch {
    throw new Error("The explorer does not answer. If it was stopped, start it again and reload this page");
  }
  const content = answer.headers.get("content-type").startsWith("application/json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw Object.assign(new Error(content.error), { near: content.near || [] });
  return content;
}

const post = (path, body) => ask(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body),
});

function complain(error) {
  const near = error.near && error.near.length ? ` Near: ${error.near.join(", ")}` : "";
  find("trouble").textContent = `${error.message}.${near}`;
  find("trouble").hidden = false;
}

const guarded = (work) => async (...given) => {
  find("trouble").hidden = true;
  try { await work(...given); } catch (error) { complain(error); }
};

// ---- looking words up

function lookUp(word, side) {
  state.side = side;
  find("word").value = word;
  showDirection();
  typed();
}

function ranked(words, side) {
  return element("ol", {}, ...words.map((each) => element("li", {},
    element("button", { type: "button", class: "go", "data-word": each.word, onclick: () => lookUp(each.word, side) },
      wordNode(each.word, side), element("span", { class: "score" }, number(each.score))))));
}

const titled = (level, title, content) => element("div", { class: "list" }, element(level, {}, ...title), content);

// A word to look up; clicking it does.
const chip = (word, side) => element("button",
  { type: "button", class: "go", "data-word": word, onclick: () => lookUp(word, side) }, wordNode(word, side));

function showTranslation(answer) {
  const there = other(answer.side);
  find("columns").replaceChildren(...answer.models.map((model) => element("div", { class: "model" },
    element("h3", {}, model.method),
    element("div", { class: "lists" }, titled("h4", ["cosine"], ranked(model.cosine, there)),
      titled("h4", ["CSLS"], model.csls ? ranked(model.csls, there)
        : element("p", { class: "waiting" }, "being prepared …"))))));
  if (answer.word === state.word) showTicks();  // the same word as before, by a new model
  find("hint").hidden = true;
  find("near").hidden = answer.known;
  find("legend").hidden = !answer.known;
  if (answer.known) {
    const best = answer.models[0].csls || answer.models[0].cosine;
    find("said").textContent = `${answer.word}: ${best.slice(0, 3).map((each) => each.word).join(", ")}`;
    return;
  }
  const said = answer.near.length ? "This word is not known. Do you mean one of these?"
    : "This word is not known, and no word is spelled nearly like it.";
  find("near").replaceChildren(element("p", { class: "note" }, said),
    element("p", { class: "chips" }, ...answer.near.map((word) => chip(word, answer.side))));
  find("said").textContent = `${said} ${answer.near.join(", ")}`;
}

function showExamples() {
  find("examples").replaceChildren(...state.status[state.side].examples.map((word) => chip(word, state.side)));
}

function clear() {
  state.word = null;
  for (const id of ["columns", "near"]) find(id).replaceChildren();
  for (const id of ["near", "around", "legend"]) find(id).hidden = true;
  find("hint").hidden = false;
  showExamples();
  guarded(refreshSeeds)();
}

const translate = guarded(async (word, mine) => {
  const query = new URLSearchParams({ word, side: state.side, k: 10 });
  clearTimeout(state.late);
  state.late = setTimeout(() => find("translations").setAttribute("aria-busy", "true"), 250);
  let answer;
  try { answer = await ask(`/api/translate?${query}`); } finally {
    if (mine === state.asked) {
      clearTimeout(state.late);
      find("translations").removeAttribute("aria-busy");
    }
  }
  if (mine !== state.asked) return;
  showTranslation(answer);
  state.word = answer.known ? answer.word : null;
  if (!answer.known) {
    find("around").hidden = true;
    await refreshSeeds();
    return;
  }
  clearTimeout(state.waiting);
  state.waiting = setTimeout(() => showAround(mine), 150);
});

function typed() {
  const word = find("word").value.trim();
  state.asked += 1;
  if (word) translate(word, state.asked);
  else clear();
}

const showAround = guarded(async (mine) => {
  const query = new URLSearchParams({ word: state.word, side: state.side });
  const [near, map, seeds] = await Promise.all([
    ask(`/api/neighbours?${query}&k=8`), ask(`/api/map?${query}`), ask(`/api/seeds?${query}&k=8`)]);
  if (mine !== state.asked) return;
  find("neighbours").replaceChildren(...[near.own, near.other].map((each) =>
    titled("h3", ["near ", wordNode(each.word, each.side)], ranked(each.words, each.side))));
  find("around").hidden = false;
  drawMap(map);
  showSeeds(seeds.seeds, state.word);
});

// ---- the map

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Fit the points into the picture, both axes at the same scale.
function placing(points, width, height) {
  const ends = (values) => [Math.min(...values), Math.max(...values)];
  const [left, right] = ends(points.map((point) => point.x)), [low, high] = ends(points.map((point) => point.y));
  const scale = Math.min((width - 130) / (right - left || 1), (height - 60) / (high - low || 1));
  return ({ x, y }) => [width / 2 + scale * (x - (left + right) / 2), height / 2 - scale * (y - (low + high) / 2)];
}

function drawMap({ points, pairs }) {
  const svg = find("map");
  const [width, height] = svg.clientWidth < 480 ? [340, 300] : [640, 400];  // labels stay readable on a phone
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const place = placing(points, width, height);
  const title = drawn("title", { id: "map-title" }, `${points[0].word} among ${points.length - 1} words of both sides`);
  const lines = pairs.map(([a, b]) => {
    const [x1, y1] = place(points[a]), [x2, y2] = place(points[b]);
    return drawn("line", { x1, y1, x2, y2 });
  });
  const dots = points.map((point, i) => {
    const [cx, cy] = place(point);
    const r = i ? 4 : 6, side = { class: point.side };
    if (point.side === "source") return drawn("circle", { cx, cy, r, ...side });
    return drawn("path", { d: `M${cx} ${cy - r}l${r} ${r} ${-r} ${r} ${-r} ${-r}z`, ...side });
  });
  svg.replaceChildren(title, ...lines, ...dots);
  const taken = points.map((point) => { const [x, y] = place(point); return [x - 5, y - 5, x + 5, y + 5]; });
  points.forEach((point, i) => {
    const text = drawn("text", { class: `${point.side}${i ? "" : " asked"}` }, point.word);
    svg.append(text);
    if (!setLabel(text, place(point), taken, i, width, height)) text.remove();
  });
}

// Put a label where it covers nothing: right, left, above or below its point. Without such a place it is left out.
function setLabel(text, [x, y], taken, own, right, bottom) {
  const width = text.getComputedTextLength(), height = 14;
  for (const [left, top] of [[x + 9, y - 7], [x - 9 - width, y - 7], [x - width / 2, y - 22], [x - width / 2, y + 9]]) {
    const box = [left, top, left + width, top + height];
    const free = taken.every((each, i) => i === own
      || box[2] < each[0] || box[0] > each[2] || box[3] < each[1] || box[1] > each[3]);
    if (free && left > 4 && box[2] < right - 4 && top > 2 && box[3] < bottom - 2) {
      text.setAttribute("x", left);
      text.setAttribute("y", top + 11.5);
      taken.push(box);
      return true;
    }
  }
  return false;
}

// ---- seed pairs

function seedRow(seed) {
  const act = (action) => guarded(() => edit({ action, source: seed.source, target: seed.target }));
  const named = `${seed.source} – ${seed.target}`;
  const kept = seed.kept === null ? element("span", { class: "state" }, "–")
    : element("span", { class: "kept" }, element("meter", { min: 0, max: 1, value: seed.kept, "aria-label": `kept of ${named}` }),
      ` ${Math.round(100 * seed.kept)} %`);
  const actions = seed.state === "wrong"
    ? [element("button", { type: "button", "aria-label": `Restore ${named}`, onclick: act("restore") }, "Restore")]
    : [element("button", { type: "button", "aria-label": `Mark ${named} as wrong`, onclick: act("wrong") }, "Wrong"),
      element("button", { type: "button", "aria-label": `Change ${named}`, onclick: () => correct(seed) }, "Change")];
  const marks = seed.state === "given" ? [] : [" ", element("span", { class: "state" }, seed.state)];
  return element("tr", { class: seed.state },
    element("td", {}, wordNode(seed.source, "source"), " – ", wordNode(seed.target, "target"), ...marks),
    element("td", { class: "number near" }, number(seed.cosine)), element("td", {}, kept),
    element("td", { class: "actions" }, ...actions));
}

function seedsHint(word, suspicious) {
  const kept = "Filter kept: the share of a pair's inner products with other pairs on which both sides agree.";
  if (word) {
    const cosine = ["Cosine: how near the ", wordNode(state.status[state.side].name), " word is to ", wordNode(word), ". "];
    return [element("span", { class: "near" }, ...cosine), kept];
  }
  if (!suspicious) return ["The pairs that the model learned from appear with a word, nearest first."];
  const given = state.status.pairs.given.toLocaleString("en");
  return [`${suspicious.toLocaleString("en")} of ${given} ${suspicious === 1 ? "is" : "are"} no nearer than words paired by`
    + ` chance, according to maps that were learned without them. Those that are farthest apart come first. ${kept}`];
}

// The pairs nearest to a word or, without one, those that look wrong.
function showSeeds(seeds, word, suspicious = 0) {
  find("seeds-title").textContent = word ? "Seed pairs nearby" : suspicious ? "Seed pairs that look wrong" : "Seed pairs";
  find("seeds-hint").replaceChildren(...seedsHint(word, suspicious));
  const shown = word ? seeds : seeds.slice(0, suspicious);
  find("seeds").dataset.word = word || "";
  find("seeds-scroll").hidden = shown.length === 0;
  const focused = document.activeElement.closest("#seed-rows tr");
  const place = focused ? [...find("seed-rows").children].indexOf(focused) : -1;
  find("seed-rows").replaceChildren(...shown.map(seedRow));
  // The keyboard goes on where it was.
  if (place >= 0 && find("seed-rows").children[place]) find("seed-rows").children[place].querySelector("button").focus();
  tick(seeds, word);
}

function tick(seeds, word) {
  const here = state.side;
  state.right = new Set(seeds.filter((seed) => seed[here] === word && seed.state !== "wrong").map((seed) => seed[other(here)]));
  showTicks();
}

function showTicks() {
  for (const each of document.querySelectorAll("#columns .go")) {
    each.firstChild.classList.toggle("right", state.right.has(each.dataset.word));
  }
}

async function edit(change) {
  showStatus(await post("/api/edit", change));
  find("refit-said").textContent = "Changed. Refit to learn from it.";
  await refreshSeeds();
}

async function refreshSeeds() {
  const mine = state.asked;
  if (!state.word) {
    const { seeds, suspicious } = await ask("/api/suspects?k=12");
    if (mine === state.asked) showSeeds(seeds, null, suspicious);
    return;
  }
  const query = new URLSearchParams({ word: state.word, side: state.side, k: 8 });
  showSeeds((await ask(`/api/seeds?${query}`)).seeds, state.word);
}

function correct(seed) {
  state.correcting = seed;
  find("add-title").textContent = seed ? "Change a pair" : "Add a pair";
  find("add-button").textContent = seed ? "Change" : "Add";
  find("add-cancel").hidden = !seed;
  find("add-source").value = seed ? seed.source : "";
  find("add-target").value = seed ? seed.target : "";
  if (seed) { find("add-target").focus(); find("add-target").select(); }
}

const submitPair = guarded(async (event) => {
  event.preventDefault();
  const source = find("add-source").value.trim(), target = find("add-target").value.trim(), old = state.correcting;
  await edit(old ? { action: "correct", source: old.source, target: old.target, to_source: source, to_target: target }
    : { action: "add", source, target });
  correct(null);
  find("add-source").focus();
});

// ---- the status: edits, refits, scores

function showDirection() {
  if (!state.status) return;
  const names = { source: state.status.source.name, target: state.status.target.name };
  const arrow = [wordNode(names[state.side], state.side), " → ", wordNode(names[other(state.side)], other(state.side))];
  find("direction").replaceChildren(...arrow, element("span", { class: "swap", "aria-hidden": "true" }, "⇄"));
  find("swap").setAttribute("aria-label", `${names[state.side]} to ${names[other(state.side)]}: change the direction`);
  find("word-label").replaceChildren("A word of ", wordNode(names[state.side]));
  find("word").placeholder = state.status[state.side].examples[0] || "";
}

const SCORES = [["found first (P@1)", "p_at_1"], ["among five (P@5)", "p_at_5"]];
const points = (value) => `${value < 0 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)}`;

// The score before and after a refit, or the score as it is.
function showScore(compared) {
  const score = compared || state.measured;
  find("score").hidden = !score;
  find("measure-row").hidden = Boolean(score);
  find("score-note").textContent = "";
  if (!score) return;
  find("score").replaceChildren(...SCORES.map(([name, key]) => element("div", { class: "tile" }, element("dt", {}, name),
    element("dd", {}, percent(compared ? score.after[key] : score[key]),
      element("small", {}, compared ? `before ${percent(score.before[key])}` : "as it is")))));
  const measured = `Measured by ${score.retrieval} on ${score.n_questions.toLocaleString("en")} words of the ${score.measured_on}.`;
  find("score-note").textContent = compared ? `${measured} ${change(score)}` : measured;
}

function change({ difference, low, high }) {
  if (low === 0 && high === 0) return "P@1 did not change.";
  const chance = low <= 0 && high >= 0 ? ", so it may be chance" : "";
  return `P@1 changed by ${points(difference)} points, between ${points(low)} and ${points(high)} (95 %)${chance}.`;
}

function showStatus(status) {
  state.status = status;
  const { pairs, refit } = status;
  const running = refit.state === "running";
  const preparing = status.csls_progress < 1 ? ` · CSLS is being prepared, ${Math.floor(100 * status.csls_progress)} %` : "";
  find("about").textContent = `${status.source.words.toLocaleString("en")} × ${status.target.words.toLocaleString("en")} words · `
    + `${status.models.map((model) => model.method).join(" and ")}${preparing}`;
  find("edits").textContent = `${pairs.given.toLocaleString("en")} seed pairs, ${pairs.added} added, ${pairs.wrong} marked as wrong.`;
  const undone = document.activeElement === find("undo");
  find("undo").disabled = !status.undo || running;
  if (undone && find("undo").disabled) find("refit-button").focus();
  find("undo-what").textContent = status.undo ? `Undo takes back ${status.undo}.` : "";
  find("refit-button").disabled = running;
  find("stop").hidden = find("working").hidden = !running;
  find("progress").value = refit.progress;
  find("save").hidden = !status.can_save;
  showScore(status.score);
  showDirection();
  if ((running || preparing) && !state.watching) state.watching = setTimeout(watch, running ? 200 : 1000);
}

const ENDS = { done: "The model was learned again.", failed: "The refit failed:", stopped: "The refit was stopped; the model is as it was." };

function tellEnd({ state: end, message }) {
  find("refit-said").textContent = [ENDS[end], message].filter(Boolean).join(" ");
  typed();
}

const watch = guarded(async () => {
  const before = state.status;
  state.watching = null;
  showStatus(await ask("/api/status"));
  const now = state.status;
  if (before.refit.state === "running" && now.refit.state !== "running") tellEnd(now.refit);
  else if (before.csls_progress < 1 && now.csls_progress === 1) typed();
});

const submitRefit = guarded(async (event) => {
  event.preventDefault();
  await post("/api/refit", { method: find("method").value });
  find("refit-said").textContent = "";
  find("progress-label").textContent = `Learning, ${find("method").selectedOptions[0].textContent}`;
  showStatus(await ask("/api/status"));
  if (state.status.refit.state !== "running") tellEnd(state.status.refit);  // it was that quick
});

const undo = guarded(async () => {
  showStatus(await post("/api/undo"));
  find("refit-said").textContent = "Undone.";
  typed();
});

const measure = guarded(async () => {
  find("refit-said").textContent = "Measuring …";
  find("measure").disabled = true;
  try { state.measured = (await ask("/api/evaluate")).score; } finally {
    find("measure").disabled = false;
    find("refit-said").textContent = "";
  }
  if (!state.measured) find("refit-said").textContent = "There are no pairs to measure with that the model did not learn from.";
  showScore(state.status.score);
});

const save = guarded(async () => {
  const { saved } = await post("/api/save");
  find("refit-said").textContent = `Saved ${saved.join(" and ")}.`;
});

// ---- a list of words

const submitList = guarded(async (event) => {
  event.preventDefault();
  const words = find("words").value.split("\n").map((word) => word.trim()).filter(Boolean);
  if (!words.length) { find("list-said").textContent = "There are no words yet."; return; }
  const text = await post("/api/translate.tsv",
    { words, side: state.side, k: 3, retrieval: find("list-retrieval").value, model: find("list-model").value || "first" });
  const lines = text.replace(/\n$/, "").split("\n");
  const unknown = lines.filter((line) => line.endsWith("\t\t\t")).length;
  const said = unknown ? `, ${unknown} of ${unknown === 1 ? "an unknown word" : "unknown words"}` : "";
  find("list-said").textContent = `${lines.length - 1} lines${said}.`;
  state.lines = text;
  URL.revokeObjectURL(find("list-download").href);
  find("list-download").href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  find("list-preview").textContent = lines.slice(0, 200).join("\n");
  find("list-result").hidden = find("list-preview").hidden = false;
});

const copyList = guarded(async () => {
  await navigator.clipboard.writeText(state.lines);
  find("list-said").textContent = "Copied.";
});

// ---- the keyboard

function moveFocus(key) {
  const columns = [...document.querySelectorAll("#hint, #near, .list")]
    .map((column) => [...column.querySelectorAll(".go")]).filter((buttons) => buttons.length && buttons[0].offsetParent);
  const at = columns.findIndex((buttons) => buttons.includes(document.activeElement));
  if (at < 0) { if (key === "ArrowDown" && columns.length) columns[0][0].focus(); return columns.length > 0; }
  const row = columns[at].indexOf(document.activeElement);
  if (key === "ArrowUp" && row === 0) { find("word").focus(); return true; }
  const aside = columns[at + { ArrowLeft: -1, ArrowRight: 1 }[key]];
  const goal = key === "ArrowDown" ? columns[at][row + 1] : key === "ArrowUp" ? columns[at][row - 1]
    : aside && aside[Math.min(row, aside.length - 1)];
  if (goal) goal.focus();
  return true;
}

function pressed(event) {
  const target = event.target, inList = target.classList.contains("go");
  const writing = ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
  if (event.key === "/" && !writing) {
    event.preventDefault();
    find("word").focus();
    find("word").select();
  } else if (event.key === "Escape") {
    if (state.correcting) correct(null);
    if (target.id === "word") { target.value = ""; typed(); } else { find("word").focus(); find("word").select(); }
  } else if (event.key === "Enter" && target.id === "word") {
    const near = document.querySelector("#near .go");
    if (near && !find("near").hidden) near.click();
    else typed();
  } else if (event.key.startsWith("Arrow") && (inList || (target.id === "word" && event.key === "ArrowDown"))) {
    if (moveFocus(event.key)) event.preventDefault();
  }
}

const start = guarded(async () => {
  document.addEventListener("keydown", pressed);
  find("word").addEventListener("input", typed);
  find("swap").addEventListener("click", () => {
    const best = document.querySelector("#columns .go");
    if (best) lookUp(best.dataset.word, other(state.side));
    else { state.side = other(state.side); showDirection(); typed(); }
    find("word").focus();
  });
  find("add").addEventListener("submit", submitPair);
  find("add-cancel").addEventListener("click", () => correct(null));
  find("refit").addEventListener("submit", submitRefit);
  find("stop").addEventListener("click", guarded(() => ask("/api/refit", { method: "DELETE" })));
  find("undo").addEventListener("click", undo);
  find("save").addEventListener("click", save);
  find("list-form").addEventListener("submit", submitList);
  find("measure").addEventListener("click", measure);
  find("list-copy").addEventListener("click", copyList);
  find("list-copy").hidden = !navigator.clipboard;
  showStatus(await ask("/api/status"));
  const { source, target, models } = state.status;
  document.title = `${source.name} – ${target.name} · fipp explore`;
  find("add-source-label").textContent = source.name;
  find("add-target-label").textContent = target.name;
  find("list-model").hidden = models.length < 2;
  find("list-model").replaceChildren(...models.map((model, i) => element("option", { value: i ? "second" : "first" }, model.method)));
  clear();
  find("word").focus();
});

start();
