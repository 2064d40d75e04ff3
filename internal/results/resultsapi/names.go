// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A name is SUBJECT-IDENTITY, or SUBJECT-IDENTITY-N for the N-th of several results that a report has with the same
// identity. SUBJECT is a hash of the result's resource, which get uses to find the result, or noSubject. Both
// are 64 bits in base32, in lower case.

// noSubject takes the place of the subject of a result that is about no resource.
const noSubject = "none"

var nameEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func encode(bits int64) string {
	return nameEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(bits)))
}

// nameOf returns the name of a result: of its report's kind and name, and of its source, policy, rule and subject. What
// else there is in it may change without another name.
func nameOf(row *engine.ResultRow) string {
	name := subjectPart(row.Subject) + "-" + encode(identityOf(row))
	if row.Ordinal > 0 {
		name += "-" + strconv.Itoa(int(row.Ordinal)+1)
	}
	return name
}

func subjectPart(subject *engine.Subject) string {
	if subject == nil {
		return noSubject
	}
	return encode(subject.ID())
}

// identityOf hashes what identifies a result among those about the same subject.
func identityOf(row *engine.ResultRow) int64 {
	id := row.Identity()
	return hashOf(row.Report.Kind, row.Report.Name, id.Source, id.Policy, id.Rule)
}

func hashOf(parts ...string) int64 {
	var stack [512]byte
	input := stack[:0]
	for _, part := range parts {
		// With its length, so that no two lists of parts are the same input.
		input = strconv.AppendInt(input, int64(len(part)), 10)
		input = append(append(input, ':'), part...)
	}
	sum := sha256.Sum256(input)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// parsedName is what a name says of the result that has it.
type parsedName struct {
	// subject is engine.Subject.ID; about is false for none.
	subject int64
	about   bool
}

// parseName returns false for what is not the name of any result.
func parseName(name string) (parsedName, bool) {
	first, rest, found := strings.Cut(name, "-")
	identity, _, _ := strings.Cut(rest, "-")
	if _, ok := decode(identity); !found || !ok {
		return parsedName{}, false
	}
	if first == noSubject {
		return parsedName{}, true
	}
	subject, ok := decode(first)
	return parsedName{subject, true}, ok
}

func decode(text string) (int64, bool) {
	bits, err := nameEncoding.DecodeString(text)
	if err != nil || len(bits) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(bits)), true
}
