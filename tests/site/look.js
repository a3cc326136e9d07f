/* Loads each page in a frame of several widths, and writes what is wrong into #result. */
"use strict";

const NARROW = 360, WIDE = 1280;
const faults = [];
let count = 0;

/* The rows of a line box in which a part of a text node is shown. */
function rows(node, from, to) {
	const range = node.ownerDocument.createRange();

	range.setStart(node, from);
	range.setEnd(node, to);
	return new Set([...range.getClientRects()].filter((box) => box.width > 0)
		.map((box) => Math.round(box.bottom)));
}

function texts(element) {
	const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
	const found = [];

	while (walker.nextNode())
		found.push(walker.currentNode);
	return found;
}

function luminance(color) {
	const parts = color.match(/[\d.]+/g).slice(0, 3).map((part) => {
		const share = part / 255;

		return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
	});

	return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

function contrast(one, other) {
	const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);

	return (high + 0.05) / (low + 0.05);
}

function* checks(document, width) {
	const root = document.documentElement;
	const style = (element) => document.defaultView.getComputedStyle(element);

	yield [root.scrollWidth <= root.clientWidth,
		`it is ${root.scrollWidth} wide, in a window of ${root.clientWidth}`];
	yield [contrast(style(document.body).color, style(root).backgroundColor) >= 7,
		"text and paper are too much alike"];
	yield [document.querySelectorAll("nav li a").length > 20, "the contents are missing"];
	for (const image of document.images) {
		if (!image.offsetParent)
			continue; /* for paper */
		yield [image.naturalWidth > 0, `${image.src} is not shown`];
		yield [image.getBoundingClientRect().right <= root.clientWidth,
			`${image.src} is cut`];
	}
	for (const node of texts(document.querySelector("main"))) {
		if (!node.parentElement.closest("code:not(pre code)"))
			continue;
		for (const option of node.data.matchAll(/(?<![\w-])--?[a-z]+/g))
			yield [rows(node, option.index, option.index + option[0].length).size <= 1,
				`${option[0]} is broken`];
	}
	if (width === WIDE) {
		for (const code of document.querySelectorAll("code.language-cron")) {
			const node = texts(code)[0];
			let from = 0;

			for (const line of node.data.split("\n")) {
				yield [rows(node, from, from + line.length).size <= 1, `${line} wraps`];
				from += line.length + 1;
			}
		}
	}
	if (width === NARROW) {
		const button = document.querySelector("header button");
		const nav = document.querySelector("nav");

		yield [button.offsetParent && !nav.offsetParent, "the contents are not behind a button"];
		button.click();
		yield [nav.offsetParent && nav.offsetTop < document.querySelector("main").offsetTop,
			"the button does not show the contents first"];
	}
}

async function search(frame, query) {
	const document = frame.contentDocument;
	const input = document.querySelector("input[type=search]");

	input.value = query;
	input.dispatchEvent(new frame.contentWindow.Event("input"));
	for (let i = 0; i < 200 && !document.querySelector("form ol li"); i++)
		await new Promise((done) => setTimeout(done, 20));
	return [...document.querySelectorAll("form ol a")].map((link) => link.getAttribute("href"));
}

function judge(page, width, good, text) {
	count++;
	if (!good)
		faults.push([page, width, text]);
}

async function load(page, width) {
	const frame = document.createElement("iframe");

	frame.style = `width: ${width}px; height: 800px; border: 0`;
	frame.src = page;
	document.body.appendChild(frame);
	await new Promise((done) => frame.addEventListener("load", done));
	return frame;
}

async function look() {
	for (const page of pages) {
		for (const width of [NARROW, 768, WIDE]) {
			const frame = await load(page, width);

			for (const [good, text] of checks(frame.contentDocument, width))
				judge(page, width, good, text);
			frame.remove();
		}
	}
	const frame = await load("index.html", WIDE);
	const found = await search(frame, "fenc late");

	judge("index.html", WIDE, found.some((link) => link.startsWith("code.html#fencing")),
		`the search finds ${found}`);
	document.getElementById("result").textContent = JSON.stringify({ count, faults });
}

window.addEventListener("load", look);
