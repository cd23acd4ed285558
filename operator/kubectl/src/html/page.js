"use strict";
// Search, zoom and sorting. Without it everything is readable.
(function () {
  const byId = (id) => document.getElementById(id);
  const svg = document.querySelector(".canvas svg");
  const canvas = byId("canvas");
  const search = byId("search");

  function setUpZoom() {
    const own = svg.viewBox.baseVal;
    let scale = 1;
    // Keeps the point at x, y of the window in its place.
    function zoom(next, x, y) {
      const area = canvas.getBoundingClientRect();
      const [left, top] = [x === undefined ? area.width / 2 : x - area.left, y === undefined ? 0 : y - area.top];
      next = Math.min(4, Math.max(0.02, next));
      const [column, row] = [(canvas.scrollLeft + left) / scale, (canvas.scrollTop + top) / scale];
      scale = next;
      svg.style.width = own.width * scale + "px";
      svg.style.height = own.height * scale + "px";
      canvas.scrollLeft = column * scale - left;
      canvas.scrollTop = row * scale - top;
    }
    const fit = () => Math.min(1, (canvas.clientWidth - 2) / own.width);
    byId("larger").onclick = () => zoom(scale * 1.25);
    byId("smaller").onclick = () => zoom(scale / 1.25);
    byId("actual").onclick = () => zoom(1);
    byId("fit").onclick = () => zoom(fit());
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(scale * Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
      }
    }, { passive: false });
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button === 0) from = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
    });
    window.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      if (Math.abs(x) + Math.abs(y) < 4) return;
      canvas.classList.add("grab");
      canvas.scrollLeft = from.left - x;
      canvas.scrollTop = from.top - y;
    });
    window.addEventListener("pointerup", () => {
      from = null;
      canvas.classList.remove("grab");
    });
    // A large picture begins with the whole of it, as far as that can be read.
    zoom(Math.max(fit(), 0.45));
    return (element) => {
      const [box, area] = [element.getBoundingClientRect(), canvas.getBoundingClientRect()];
      canvas.scrollLeft += box.left - area.left - 40;
      canvas.scrollTop += box.top - area.top - 40;
    };
  }

  function setUpSearch(show) {
    const frames = [...document.querySelectorAll(".usnet .frame")];
    const borders = [...document.querySelectorAll(".usnet > g:not(.frame):not(.segment)")];
    const segments = [...document.querySelectorAll(".usnet .segment")];
    const wires = [...document.querySelectorAll(".usnet > [data-n]:not(.segment)")];
    const rows = [...document.querySelectorAll("table.searched tbody tr")];
    const found = byId("found");
    const problems = byId("problems");
    const text = new Map([...frames, ...segments, ...rows].map((it) => [it, it.textContent.toLowerCase()]));
    let network = null;
    const isOfNetwork = (it) => network === null || it.dataset.n === network || it.querySelector('[data-n="' + network + '"]');
    function update(jump) {
      const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
      const matches = (it) => words.every((word) => text.get(it).includes(word));
      const isWanted = (it) => matches(it) && (!problems.checked || it.classList.contains("bad")) && isOfNetwork(it);
      const isActive = words.length > 0 || problems.checked || network !== null;
      let first = null;
      let count = 0;
      frames.forEach((frame, index) => {
        const wanted = isWanted(frame);
        frame.classList.toggle("faint", !wanted);
        if (borders[index]) borders[index].classList.toggle("faint", !wanted);
        for (const pod of frame.querySelectorAll(".pod")) {
          const hit = words.length > 0 && words.every((word) => pod.textContent.toLowerCase().includes(word));
          pod.classList.toggle("hit", hit);
          if (hit && wanted && !first) first = pod;
        }
        if (wanted) {
          count += 1;
        }
      });
      segments.forEach((segment) => segment.classList.toggle("faint", isActive && network !== null && !isOfNetwork(segment)));
      wires.forEach((wire) => wire.classList.toggle("faint", network !== null && wire.dataset.n !== network));
      rows.forEach((row) => { row.hidden = !matches(row); });
      found.textContent = isActive ? count + " of " + frames.length + " frames" : "";
      if (!first) first = frames.find(isWanted);
      if (jump && isActive && first) show(first);
    }
    search.addEventListener("input", () => update(false));
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") update(true); });
    problems.addEventListener("change", () => update(true));
    segments.forEach((segment) => segment.addEventListener("click", () => {
      network = network === segment.dataset.n ? null : segment.dataset.n;
      update(false);
    }));
  }

  function setUpSorting() {
    for (const button of document.querySelectorAll("th button")) {
      button.addEventListener("click", () => {
        const head = button.parentElement;
        const body = head.closest("table").tBodies[0];
        const column = head.cellIndex;
        const isNumber = head.classList.contains("number");
        const isDown = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : isNumber;
        const value = (row) => {
          const cell = row.cells[column];
          return isNumber ? Number(cell.dataset.v || -1) : cell.textContent;
        };
        const compare = (one, other) => (isNumber ? value(one) - value(other) : value(one).localeCompare(value(other), "en", { numeric: true }));
        const rows = [...body.rows].sort((one, other) => (isDown ? -compare(one, other) : compare(one, other)));
        for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        body.append(...rows);
      });
    }
  }

  setUpSorting();
  if (svg && canvas && search) setUpSearch(setUpZoom());
})();
