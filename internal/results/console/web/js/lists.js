// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// The results that filters select, in pages.

import * as api from './api.js';
import { expression, fieldSelector, textFields } from './filters.js';
import { worse } from './terms.js';

/**
 * @typedef {{from: string|null, continue: string}} At where a page begins
 * @typedef {{items: any[], next: At|null}} Page
 */

/**
 * A page of results in the order that the filters ask for.
 * @param {import('./pieces.js').Context} context
 * @param {import('./filters.js').Filters} filters
 * @param {{result: string, severity: string}[]} kinds that there are
 * @param {At} at
 * @param {number} size
 * @returns {Promise<Page>}
 */
export function pageOf(context, filters, kinds, at, size) {
  return filters.sort || filters.message ? ordered(context, filters, at, size) : worstFirst(context, filters, kinds, at, size);
}

/** A page in an order of the server, which reads all that the filters select. */
async function ordered({ scope, signal }, filters, at, size) {
  const order = filters.sort ? { orderBy: filters.sort, descending: filters.desc } : { orderBy: 'severity' };
  const { results, next } = await api.ask(scope, { filter: expression(filters), results: { ...order, limit: size, continue: at.continue } }, signal);
  return { items: results, next: next ? { from: null, continue: next } : null };
}

/**
 * Lists have the order of reports, and read no more than they return. The worst is first as each result and severity that there is is a
 * list of its own, one after the other.
 */
async function worstFirst({ scope, signal }, filters, kinds, { from, continue: token }, size) {
  const lists = [...kinds].sort(worse).flatMap(({ result, severity }) => places(scope).map((where) => ({ result, severity, where, name: [result, severity, where.global ? 'g' : ''].join('/') })));
  let at = from === null ? 0 : lists.findIndex(({ name }) => name === from);
  if (at < 0) { // All of that list has gone.
    const [result, severity] = from.split('/');
    at = lists.findIndex((l) => worse(l, { result, severity }) >= 0);
    token = '';
    if (at < 0) return { items: [], next: null };
  }
  const items = [];
  for (const { result, severity, where, name } of lists.slice(at)) {
    if (items.length === size) return { items, next: { from: name, continue: '' } };
    const selector = fieldSelector({ result, severity, ...textFields(filters) });
    const answer = await api.results(where, { limit: size - items.length, continue: token, fieldSelector: selector }, signal);
    items.push(...answer.items);
    token = answer.metadata.continue ?? '';
    if (token) return { items, next: { from: name, continue: token } };
  }
  return { items, next: null };
}

/**
 * The lists that a scope is made of: of what is in namespaces, and of what is outside.
 * @param {import('./router.js').Scope} scope
 * @returns {{namespace: string, global?: boolean}[]}
 */
function places(scope) {
  const wheres = [];
  if (!scope.outside) wheres.push({ namespace: scope.namespace });
  if (!scope.namespace) wheres.push({ namespace: '', global: true });
  return wheres;
}
