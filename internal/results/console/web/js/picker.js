// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Chooses a namespace.

import { h } from './dom.js';
import { address } from './router.js';

// The parameters that mean nothing in another namespace.
const ofOnePage = ['namespace', 'outside', 'from', 'continue', 'page'];

/**
 * Goes to the same page of another scope.
 * @param {import('./router.js').Place} place
 * @param {{namespace?: string, outside?: string}} scope
 */
export function goTo(place, scope) {
  const params = {};
  for (const name of new Set(place.params.keys())) if (!ofOnePage.includes(name)) params[name] = place.params.getAll(name);
  location.hash = address(place.page, { ...scope, ...params });
}

/**
 * @param {import('./router.js').Place} place
 * @param {string[]} namespaces that are known; none if they can't be listed
 */
export function scopePicker(place, namespaces) {
  const namespace = place.params.get('namespace') ?? '';
  if (!namespaces.length) return namespaceForm(place, namespaces, namespace);
  const everything = namespace && !namespaces.includes(namespace) ? [namespace, ...namespaces] : namespaces;
  const options = [
    h('option', { value: '' }, 'All namespaces'),
    h('option', { value: '/', selected: place.params.has('outside') }, 'Cluster-scoped'),
    ...everything.map((name) => h('option', { value: name, selected: name === namespace }, name)),
  ];
  const select = h('select', {
    'aria-label': 'Namespace',
    onchange: ({ target: { value } }) => goTo(place, value === '/' ? { outside: '1' } : { namespace: value }),
  }, options);
  return h('div', { class: 'scope' }, select);
}

/**
 * Asks for the name of a namespace.
 * @param {import('./router.js').Place} place
 * @param {string[]} namespaces
 * @param {string} value
 */
export function namespaceForm(place, namespaces, value) {
  const id = `namespaces-${Math.random().toString(36).slice(2)}`;
  const input = h('input', { name: 'namespace', 'aria-label': 'Namespace', placeholder: 'namespace', value, list: id, autocomplete: 'off', spellcheck: 'false' });
  return h('form', {
    class: 'scope', onsubmit: (event) => {
      event.preventDefault();
      goTo(place, { namespace: input.value.trim() });
    },
  }, input, h('datalist', { id }, namespaces.map((name) => h('option', { value: name }))), h('button', {}, 'Show'));
}
