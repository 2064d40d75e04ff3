// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// An index term is stored as one number, since each object has a row for each: 24 bits of a hash of its name, then 40
// of its value, so that the terms of a name are a range. Terms that share a number find a few candidates more. The
// terms of an object are also in its row, to be found when they change, one after the other as big-endian numbers.

const (
	valueBits = 40
	termBytes = 8
	// nameBytes of a term's number begin it and are its name's.
	nameBytes = (64 - valueBits) / 8
)

// Statements of terms, by the primary key of term_key.
const (
	insertTerm = "INSERT INTO term_key (cluster, resource, term, key) VALUES (?, ?, ?, ?)"
	deleteTerm = "DELETE FROM term_key WHERE cluster = ? AND resource = ? AND term = ? AND key = ?"
)

// termsOfName returns the first and the last number that terms of a name have.
func termsOfName(name int64) (first, last int64) {
	first = int64(mix(name) >> valueBits << valueBits)
	return first, first | (1<<valueBits - 1)
}

// termOf returns the number of a term. It is stored: it must stay the same forever.
func termOf(name, value int64) int64 {
	first, _ := termsOfName(name)
	return first | int64(mix(first^value)>>(64-valueBits))
}

// mix spreads a number over all bits: the finalizer of SplitMix64.
func mix(n int64) uint64 {
	x := uint64(n)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// packTerms returns terms as an object's row has them.
func packTerms(terms []engine.Term) []byte {
	numbers := make([]int64, len(terms))
	for i, t := range terms {
		numbers[i] = termOf(t.Name, t.Value)
	}
	slices.Sort(numbers)
	packed := make([]byte, 0, len(numbers)*termBytes)
	for _, n := range slices.Compact(numbers) {
		packed = binary.BigEndian.AppendUint64(packed, uint64(n))
	}
	return packed
}

// unpackTerms returns the numbers of terms.
func unpackTerms(packed []byte) []int64 {
	numbers := make([]int64, 0, len(packed)/termBytes)
	for term := range slices.Chunk(packed[:len(packed)/termBytes*termBytes], termBytes) {
		numbers = append(numbers, int64(binary.BigEndian.Uint64(term)))
	}
	return numbers
}

// deriveTerms writes the terms that differ from what is stored.
func (c *change) deriveTerms(d derivation) error {
	old, wanted := unpackTerms(d.oldTerms), unpackTerms(d.terms)
	for _, term := range wanted {
		if slices.Contains(old, term) {
			continue
		}
		if _, err := c.conn.exec(insertTerm, c.engine.cluster, d.resource, term, d.key); err != nil {
			return err
		}
	}
	for _, term := range old {
		if slices.Contains(wanted, term) {
			continue
		}
		if _, err := c.conn.exec(deleteTerm, c.engine.cluster, d.resource, term, d.key); err != nil {
			return err
		}
	}
	return nil
}
