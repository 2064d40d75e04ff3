// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Says what does not exist, which is not the same as nothing that fails.

import { ask, literal } from './api.js';
import { h } from './dom.js';
import { texts } from './filters.js';
import { inScope } from './pieces.js';
import { most } from './counts.js';

/** Names that are offered instead of a wrong one. */
const offered = 3;

/**
 * The names that are most like another one: those that differ in case only, then those that contain it, then by the letters to change.
 * @param {string} name
 * @param {string[]} names
 */
export function nearest(name, names) {
  const wanted = name.toLowerCase();
  const distance = (other) => {
    const known = other.toLowerCase();
    if (known === wanted) return 0;
    return known.includes(wanted) || wanted.includes(known) ? 1 : 1 + edits(wanted, known);
  };
  const limit = 1 + Math.max(2, Math.floor(wanted.length / 3));
  return names.filter(Boolean).map((other) => ({ other, far: distance(other) })).filter(({ far }) => far <= limit)
    .sort((a, b) => a.far - b.far || (a.other < b.other ? -1 : 1)).slice(0, offered).map(({ other }) => other);
}

/** How many letters have to be added, left out or changed (Levenshtein). */
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}

/**
 * Says that no results have a value of a field, and offers values that some have; null where results have it.
 * @param {import('./pieces.js').Context} context
 * @param {string} field
 * @param {string} label of the field
 * @param {string} value
 * @param {(value: string) => string} address the same page with another value
 */
export async function unknown({ scope, signal }, field, label, value, address) {
  const having = await ask(scope, { filter: `${field} == ${literal(value)}`, limit: 1 }, signal);
  if (having.groups[0]?.results) return null;
  const { groups } = await ask(scope, { groupBy: [field], orderBy: 'results', descending: true, limit: most }, signal);
  const names = nearest(value, groups.map((g) => g.by[field] ?? ''));
  return h('p', { class: 'nothing', role: 'alert' }, `No results ${inScope(scope)} have the ${label.toLowerCase()} ${value}.`,
    names.length ? [' Did you mean ', names.map((name, i) => [i ? ' or ' : '', h('a', { href: address(name) }, name)]), '?'] : null);
}

/**
 * What is wrong with filters that select nothing: their values that no results have.
 * @param {import('./pieces.js').Context} context
 * @param {import('./filters.js').Filters} filters
 * @param {(params: Record<string, string>) => string} address the same page with another value of a filter
 */
export async function unknownTexts(context, filters, address) {
  const set = texts.filter(({ name }) => filters.texts[name]);
  return (await Promise.all(set.map(({ name, label, field }) => unknown(context, field, label, filters.texts[name], (value) => address({ [name]: value }))))).filter(Boolean);
}
