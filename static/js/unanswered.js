// A part of a page that gets no answer says so above the page; what was typed stays. Pages that say it themselves have #sending.
const said = document.getElementById("unanswered");
const away = "The site does not answer. What you typed is still here: try again in a moment.";

function say(words) {
  const line = document.createElement("p");
  line.textContent = words;
  said.replaceChildren(line);
}

if (!document.getElementById("sending")) {
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => say(away));
  document.addEventListener("htmx:responseError", (event) => {
    const isDown = event.detail.xhr.status >= 500;
    say(isDown ? away : "The site did not take this. What you typed is still here: copy it, then reload the page.");
  });
}
document.addEventListener("htmx:afterRequest", (event) => {
  const target = event.detail.xhr?.getResponseHeader("HX-Retarget");
  if (event.detail.successful && target !== "#unanswered") said.replaceChildren();
});

// Whoever signed in again in another tab has a new token: the one in this page is of before.
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
  if (!token || event.detail.verb === "get") return;
  event.detail.headers["X-CSRFToken"] = token;
  delete event.detail.parameters.csrfmiddlewaretoken;
});
