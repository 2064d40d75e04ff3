// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Elements. Text from the cluster gets into a page as text nodes only, here.

// Characters that aren't seen but change what is: those of text direction and control, except tab and newline.
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Shows characters that could deceive readers by their number.
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  return String(text).replace(invisible, (c) => `\u2039U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}\u203a`);
}

/**
 * Makes an element. Properties that begin with "on" are listeners; null, undefined and false are left out.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...any} children nodes, texts, and arrays of them
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Node & ParentNode} parent
 * @param {any[]} children
 */
function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

/** Characters of a long text that are shown at first. */
const shown = 240;

/**
 * A text that is folded if it is long, or if there is more to unfold.
 * @param {string} text
 * @param {...any} more what else is shown when it is unfolded
 */
export function folded(text, ...more) {
  const short = text.length <= shown && !text.includes('\n');
  if (short && !more.length) return h('span', { class: 'message' }, text);
  const line = text.slice(0, shown + 1).split('\n')[0];
  const start = short ? text : `${line.length > shown ? line.replace(/\s*\S{1,30}$/, '') : line} \u2026`; // Between words.
  return h('details', { class: 'message' }, h('summary', {}, h('span', { class: 'clamped' }, start || 'no message')), h('div', { class: 'all', tabindex: short ? null : '0' }, text), more); // The keyboard scrolls what has the focus.
}

const number = new Intl.NumberFormat('en');

/** @param {number} n */
export const count = (n) => number.format(n);

/**
 * The time since then, as kubectl prints it, or until then.
 * @param {string|undefined} timestamp
 */
export function age(timestamp) {
  if (!timestamp) return h('span', { class: 'muted' }, '\u2013');
  const since = Math.round((Date.now() - Date.parse(timestamp)) / 1000);
  const ahead = since < -60; // Clocks differ a little.
  const seconds = ahead ? -since : Math.max(0, since);
  const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];
  const [unit, size] = units.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return h('time', { datetime: timestamp, title: timestamp }, `${ahead ? 'in ' : ''}${Math.floor(seconds / size)}${unit}`);
}
