// Loads a preview anew once its file has been saved; the browser keeps the place on the page.
const { seen } = document.documentElement.dataset;

async function look() {
  try {
    const state = await (await fetch("/state")).text();
    if (state !== seen) location.reload();
  } catch {
    document.title = "Preview ended";
  }
}

setInterval(look, 500);
