// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Numbers by outcome or severity, one row for each value of a field. A row is complete or left out.

import { ask, every } from './api.js';
import { oneOf } from './filters.js';

/** The most groups that the API answers with. */
export const most = 1000;
const failing = 'result == "fail"';
/** Values that are shown where there are too many to count each. */
const longest = 100;

/**
 * @typedef {{by: Record<string, string>, numbers: Map<string, number>, total: number}} Row
 */

/**
 * Turns the values of a field into columns: one row for all groups that agree in the other fields. Groups come in the order of these
 * fields: where there are more groups than these, the last row may lack some of its own, and is left out.
 * @param {import('./api.js').Answer} answer
 * @param {string[]} by
 * @param {string} columns the field whose values are columns
 * @returns {Row[]}
 */
export function pivot({ groups, more }, by, columns) {
  const rows = new Map();
  let last = '';
  for (const group of groups) {
    last = JSON.stringify(by.map((name) => group.by[name]));
    const row = rows.get(last) ?? { by: group.by, numbers: new Map(), total: 0 };
    row.numbers.set(group.by[columns] ?? '', group.results);
    row.total += group.results;
    rows.set(last, row);
  }
  if (more) rows.delete(last);
  return [...rows.values()];
}

/**
 * The numbers by outcome of each value of a field, the most failures first. Where there are too many values, those with most failures.
 * @param {import('./router.js').Scope} scope
 * @param {string} filter
 * @param {string} field
 * @param {AbortSignal} signal
 * @returns {Promise<{rows: Row[], note: string}>} note says which ones these are, if not all
 */
export async function countsBy(scope, filter, field, signal) {
  const count = (condition) => ask(scope, { filter: every([filter, condition]), groupBy: [field, 'result'], limit: most }, signal);
  const sorted = (answer) => pivot(answer, [field], 'result').sort((a, b) => (b.numbers.get('fail') ?? 0) - (a.numbers.get('fail') ?? 0) || b.total - a.total);
  const all = await count('');
  if (!all.more) return { rows: sorted(all), note: '' };
  const worst = await ask(scope, { filter: every([filter, failing]), groupBy: [field], orderBy: 'results', descending: true, limit: longest }, signal);
  if (!worst.groups.length) {
    const rows = sorted(all);
    return { rows, note: `The first ${rows.length} by name; there are more.` };
  }
  const rows = sorted(await count(oneOf(field, worst.groups.map((g) => g.by[field] ?? ''))));
  return { rows, note: worst.more ? `The ${rows.length} with most failures; there are more.` : `Those with failures; there are more without.` };
}
