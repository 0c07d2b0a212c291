// The search in the table, and the choice of a neighborhood. Without it the first vertices and all drawings are shown.
const find = document.getElementById("find");
const found = document.getElementById("found");
const rows = [...document.querySelectorAll("#vertices tbody tr")];
const shown = Number(found.dataset.shown);
const caption = found.textContent;
find.addEventListener("input", () => {
  const word = find.value.trim().toLowerCase();
  let hits = 0;
  for (const row of rows) {
    const name = row.cells[1].title || row.cells[1].textContent;
    const hit = name.toLowerCase().includes(word);
    hits += hit;
    row.hidden = !hit || hits > (word ? 100 : shown);
  }
  found.textContent = word ? `${hits} of ${rows.length} match${hits > 100 ? "; the first 100 are shown" : ""}.` : caption;
});
const around = document.getElementById("around");
const drawings = [...document.querySelectorAll("div.around")];
const choose = () => drawings.forEach((drawing, number) => (drawing.hidden = number !== around.selectedIndex));
around?.addEventListener("change", choose);
choose();
