// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What results and severities are called, how they rank, and how they look: never by colour alone.

import { h } from './dom.js';

export const outcomes = ['fail', 'error', 'warn', 'skip', 'pass'];
export const severities = ['critical', 'high', 'medium', 'low', 'info', ''];
/** What people look for at first. */
export const problems = ['fail', 'error', 'warn'];

const marks = { fail: '\u2715', error: '!', warn: '\u25b2', skip: '\u2013', pass: '\u2713' };

/** @param {string[]} order @param {string} value */
function rank(order, value) {
  const at = order.indexOf(value);
  return at < 0 ? order.length : at;
}

/**
 * Orders what is worse first.
 * @param {{result?: string, severity?: string}} a
 * @param {{result?: string, severity?: string}} b
 */
export function worse(a, b) {
  return rank(outcomes, a.result ?? '') - rank(outcomes, b.result ?? '') || rank(severities, a.severity ?? '') - rank(severities, b.severity ?? '');
}

/** @param {string} severity */
export const severityName = (severity) => severity || 'none';

/** @param {string} result */
export function outcome(result) {
  const known = outcomes.includes(result) ? result : 'skip';
  return h('span', { class: `badge ${known}` }, h('span', { 'aria-hidden': 'true', class: 'mark' }, marks[known]), result || 'none');
}

/**
 * The share that passes of what passes or fails, rounded down, so that 100% is all.
 * @param {number} pass
 * @param {number} fail
 */
export const passRate = (pass, fail) => (pass + fail ? `${(Math.floor((1000 * pass) / (pass + fail)) / 10).toFixed(1)}%` : '\u2013');

/** @param {string} severity */
export function severityBadge(severity) {
  const known = severities.includes(severity) && severity ? severity : 'none';
  return h('span', { class: `badge ${known}` }, severityName(severity));
}
