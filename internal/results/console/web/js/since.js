// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What has changed since a page was opened in this tab.

import { count, h } from './dom.js';
import { outcome, outcomes } from './terms.js';

/**
 * @typedef {Object} Numbers at one time
 * @property {Date} at
 * @property {Map<string, number>} results by outcome
 * @property {Map<string, {policy: string, source: string, href: string, failures: number}>} policies not all of them where complete is false
 * @property {boolean} complete
 */

/** @type {Map<string, Numbers>} the first ones of each scope */
const first = new Map();

const longest = 8;

/**
 * The differences between the numbers and those that were shown first.
 * @param {string} scope
 * @param {Numbers} now
 * @param {() => void} show shows the page anew
 */
export function sinceOpened(scope, now, show) {
  const before = first.get(scope);
  if (!before) {
    first.set(scope, now);
    return null;
  }
  const results = outcomes.map((name) => ({ name, by: (now.results.get(name) ?? 0) - (before.results.get(name) ?? 0) })).filter(({ by }) => by);
  const policies = differences(before, now);
  if (!results.length && !policies.length) return null;
  const anew = () => {
    first.delete(scope);
    show();
  };
  return h('section', { class: 'card since' },
    h('h2', {}, `Since ${before.at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`),
    results.length ? h('ul', { class: 'inline' }, results.map(({ name, by }) => h('li', {}, outcome(name), ' ', signed(by)))) : null,
    policies.length ? h('table', {}, h('caption', {}, 'Failures by policy'), h('tbody', {}, policies.slice(0, longest).map(({ policy, source, href, by }) => h('tr', {},
      h('th', { scope: 'row' }, h('a', { href }, policy || 'no policy'), h('small', {}, source)), h('td', { class: 'number' }, signed(by)))))) : null,
    policies.length > longest ? h('p', { class: 'more' }, `And ${count(policies.length - longest)} more policies.`) : null,
    h('button', { type: 'button', onclick: anew }, 'Count from now'));
}

/** The policies whose failures differ, the largest difference first. One that is missing in numbers that aren't complete is not known. */
function differences(before, now) {
  const all = [];
  for (const key of new Set([...before.policies.keys(), ...now.policies.keys()])) {
    const [a, b] = [before.policies.get(key), now.policies.get(key)];
    if (!a && !before.complete || !b && !now.complete) continue;
    const by = (b?.failures ?? 0) - (a?.failures ?? 0);
    if (by) all.push({ ...(b ?? a), by });
  }
  return all.sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
}

const signed = (n) => (n > 0 ? `+${count(n)}` : `\u2212${count(-n)}`);
