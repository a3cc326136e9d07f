/* What the pages of `make site` do: the contents behind a button on a narrow screen, and
 * the search. Its index, search.js, is loaded when somebody types. */
"use strict";

const button = document.querySelector("header button");
const nav = document.querySelector("nav");
const input = document.querySelector("input[type=search]");
const results = document.createElement("ol");

document.documentElement.classList.add("scripted");

button.addEventListener("click", () => {
	const open = nav.classList.toggle("open");

	button.setAttribute("aria-expanded", open);
});

/* Sections with all words, those with a word in the heading first. A word matches the
 * beginning of another one. */
function find(query) {
	const words = query.toLowerCase().match(/[a-z0-9][a-z0-9_-]*/g) || [];
	const found = [];

	for (const [address, page, heading, text] of words.length ? sections : []) {
		const has = (where, word) => (" " + where.toLowerCase()).includes(" " + word);

		if (words.every((word) => has(text, word)))
			found.push({ address, page, heading,
				rank: words.filter((word) => has(page + " " + heading, word)).length });
	}
	return found.sort((one, other) => other.rank - one.rank).slice(0, 12);
}

function show() {
	results.replaceChildren(...find(input.value).map((section) => {
		const item = document.createElement("li");
		const link = item.appendChild(document.createElement("a"));

		link.href = section.address;
		link.textContent = section.page + ": " + section.heading;
		return item;
	}));
	if (input.value && !results.childElementCount)
		results.appendChild(document.createElement("li")).textContent = "Nothing found";
	results.hidden = !input.value;
}

input.addEventListener("input", () => {
	if (document.querySelector("script[src='search.js']")) {
		if (typeof sections !== "undefined")
			show();
		return;
	}
	const script = document.createElement("script");

	script.src = "search.js";
	script.addEventListener("load", show);
	document.head.appendChild(script);
});

input.form.addEventListener("submit", (event) => {
	const first = results.querySelector("a");

	event.preventDefault();
	if (first)
		location.href = first.href;
});

results.hidden = true;
input.form.appendChild(results);
