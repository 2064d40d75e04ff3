// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Objects as YAML, for people to read.

const plain = /^[A-Za-z_/][\w ./@-]*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n|~|\.inf|\.nan)$/i;

/** @param {unknown} value @returns {string} */
function scalar(value) {
  if (typeof value !== 'string') return String(value);
  if (plain.test(value) && !reserved.test(value) && !value.endsWith(' ')) return value;
  return JSON.stringify(value);
}

/**
 * @param {any} value
 * @param {string} [indent]
 * @returns {string[]} lines
 */
function lines(value, indent = '') {
  const out = [];
  const nested = (v) => v !== null && typeof v === 'object' && Object.keys(v).length > 0;
  const empty = (v) => (Array.isArray(v) ? '[]' : v !== null && typeof v === 'object' ? '{}' : scalar(v));
  if (Array.isArray(value)) {
    for (const item of value) {
      if (!nested(item)) out.push(`${indent}- ${empty(item)}`);
      else {
        const inner = lines(item, `${indent}  `);
        out.push(`${indent}- ${inner[0].slice(indent.length + 2)}`, ...inner.slice(1));
      }
    }
    return out;
  }
  for (const [key, item] of Object.entries(value)) {
    if (nested(item)) out.push(`${indent}${scalar(key)}:`, ...lines(item, Array.isArray(item) ? indent : `${indent}  `));
    else out.push(`${indent}${scalar(key)}: ${empty(item)}`);
  }
  return out;
}

/** @param {Record<string, any>} object @returns {string} */
export const yaml = (object) => lines(object).join('\n');
