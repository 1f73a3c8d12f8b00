// Zooming and moving of figures marked as zoomable. Without scripts they are complete as they are.
"use strict";
for (const svg of document.querySelectorAll("figure.zoomable svg")) {
  const [left, top, width, height] = svg.getAttribute("viewBox").split(/[\s,]+/).map(Number);
  const most = 16;
  let zoom = 1, x = left, y = top;

  function show() {
    x = Math.min(Math.max(x, left), left + width - width / zoom);
    y = Math.min(Math.max(y, top), top + height - height / zoom);
    svg.setAttribute("viewBox", `${x} ${y} ${width / zoom} ${height / zoom}`);
    svg.classList.toggle("enlarged", zoom > 1);
    svg.dataset.zoom = 2 ** Math.floor(Math.log2(zoom) + 1e-6);
    // Words, points and lines keep their size.
    for (const each of svg.querySelectorAll("[data-at]")) {
      const [atX, atY] = each.dataset.at.split(" ");
      each.setAttribute("transform", `translate(${atX} ${atY}) scale(${1 / zoom}) translate(${-atX} ${-atY})`);
    }
  }
  // Zoom by a factor; the place (u, v), given as shares of the figure, stays where it is.
  function scale(factor, u = 0.5, v = 0.5) {
    const next = Math.min(Math.max(zoom * factor, 1), most);
    x += u * width * (1 / zoom - 1 / next);
    y += v * height * (1 / zoom - 1 / next);
    zoom = next;
    show();
  }
  function move(u, v) {
    x += (u * width) / zoom;
    y += (v * height) / zoom;
    show();
  }
  function reset() {
    zoom = 1; x = left; y = top;
    show();
  }

  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [sign, name, act] of [["+", "Zoom in", () => scale(2)], ["−", "Zoom out", () => scale(0.5)],
    ["Reset", "Show the whole map", reset]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    if (sign.length === 1) button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    tools.append(button);
  }
  svg.before(tools);
  svg.classList.add("ready");
  svg.setAttribute("tabindex", "0");
  const keys = {"+": () => scale(2), "=": () => scale(2), "-": () => scale(0.5), "0": reset,
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1),
    ArrowDown: () => move(0, 0.1)};
  svg.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      keys[event.key]();
      event.preventDefault();
    }
  });
  // Without Ctrl, the wheel scrolls the page.
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    const box = svg.getBoundingClientRect();
    scale(2 ** (-event.deltaY / 200), (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    event.preventDefault();
  }, {passive: false});
  svg.addEventListener("dblclick", (event) => {
    const box = svg.getBoundingClientRect();
    scale(2, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  });
  let held = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" && zoom === 1) return;
    held = [event.clientX, event.clientY];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const box = svg.getBoundingClientRect();
    move((held[0] - event.clientX) / box.width, (held[1] - event.clientY) / box.height);
    held = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { held = null; });
}
