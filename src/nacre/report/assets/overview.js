"use strict";
// Sort the table by a column; again for the other direction. Empty cells stay last.
const table = document.getElementById("decisions");
const heads = [...table.tHead.rows[0].cells];
heads.forEach((head, column) => {
  head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const read = (row) => row.cells[column].dataset.sort;
    const compare = (one, two) => {
      const [a, b] = [read(one), read(two)];
      if (a === "" || b === "") return (a === "") - (b === "");
      const [x, y] = [Number(a), Number(b)];
      return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  });
});
