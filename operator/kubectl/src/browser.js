"use strict";
// Checks a page in a browser, and writes what is wrong into an element.
(function () {
  const wrong = [];
  const expect = (holds, text) => { if (!holds) wrong.push(text); };
  const all = (selector) => [...document.querySelectorAll(selector)];

  function textsFit() {
    for (const group of all(".usnet g")) {
      const own = [...group.children].find((child) => child.tagName === "rect");
      const rect = own || group.parentElement.querySelector(":scope > rect");
      if (!rect || group.classList.contains("frame")) continue;
      const room = rect.getBBox();
      for (const text of [...group.children].filter((child) => child.tagName === "text")) {
        const box = text.getBBox();
        const fits = box.x >= room.x && box.x + box.width <= room.x + room.width && box.y >= room.y - 1 && box.y + box.height <= room.y + room.height + 2;
        expect(fits, "text does not fit: " + text.textContent + " " + JSON.stringify([box.x, box.width, room.x, room.width]));
      }
    }
    const svg = document.querySelector(".usnet");
    for (const text of all(".usnet text")) {
      const box = text.getBBox();
      expect(box.x >= 0 && box.x + box.width <= svg.viewBox.baseVal.width, "text is cut: " + text.textContent);
    }
    expect(document.documentElement.scrollWidth <= window.innerWidth, "the page is wider than the window");
  }

  function searchWorks() {
    const search = document.getElementById("search");
    const pod = all(".usnet .pod")[1];
    const name = pod.querySelector("text").firstChild.textContent;
    search.value = name.toUpperCase();
    search.dispatchEvent(new Event("input"));
    const seen = all(".usnet .frame:not(.faint)");
    expect(seen.length === 1 && seen[0].contains(pod), "the search for " + name + " found " + seen.length + " frames");
    expect(pod.classList.contains("hit"), "the pod is not marked");
    const rows = all("#ports tbody tr").filter((row) => !row.hidden);
    expect(rows.length === 1 && rows[0].cells[0].textContent === name, "the search leaves " + rows.length + " ports");
    search.value = "";
    search.dispatchEvent(new Event("input"));
    expect(all(".usnet .faint").length === 0 && all("#ports tr[hidden]").length === 0, "an empty search hides something");
    const problems = document.getElementById("problems");
    problems.click();
    expect(all(".usnet .frame:not(.faint)").every((frame) => frame.classList.contains("bad")), "frames without a problem");
    expect(all(".usnet .frame:not(.faint)").length > 0, "no frame with a problem");
    problems.click();
    const segment = document.querySelector(".usnet .segment");
    segment.dispatchEvent(new Event("click"));
    expect(all(".usnet .segment:not(.faint)").length === 1, "a network is not chosen");
    segment.dispatchEvent(new Event("click"));
  }

  function zoomAndSortingWork() {
    const svg = document.querySelector(".canvas svg");
    document.getElementById("actual").click();
    const before = svg.getBoundingClientRect().width;
    expect(before === svg.viewBox.baseVal.width, "1:1 is " + before);
    document.getElementById("larger").click();
    expect(svg.getBoundingClientRect().width > before, "the picture is not larger");
    const column = 5;
    const numbers = () => all("#ports tbody tr").map((row) => Number(row.cells[column].dataset.v || -1));
    const button = all("#ports th button")[column];
    button.click();
    button.click();
    const sorted = numbers();
    expect(sorted.length > 1 && sorted.every((it, index) => index === 0 || sorted[index - 1] <= it), "not sorted: " + sorted.slice(0, 9));
    button.click();
    expect(numbers()[0] === Math.max(...sorted), "not sorted downwards");
  }

  for (const check of [textsFit, searchWorks, zoomAndSortingWork]) {
    try {
      check();
    } catch (error) {
      wrong.push(check.name + ": " + error);
    }
  }
  const result = document.createElement("pre");
  result.id = "checks";
  result.textContent = wrong.slice(0, 20).join("\n");
  document.body.append(result);
})();
