// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels that results have, with the text of the field as [LabelValue] makes it. A field that is empty gives no label.
const (
	LabelResult      = GroupName + "/result"
	LabelSeverity    = GroupName + "/severity"
	LabelSource      = GroupName + "/source"
	LabelPolicy      = GroupName + "/policy"
	LabelCategory    = GroupName + "/category"
	LabelSubjectKind = GroupName + "/subject-kind"
)

// LabelHashDigits is the length of the hash, in hexadecimal, at the end of a value that [LabelValue] has changed.
const LabelHashDigits = 8

// keptBytes is how much is left of the text before the hash.
const keptBytes = validation.LabelValueMaxLength - LabelHashDigits - 1

// LabelValue returns a text as the value of a label; "" for an empty one. One that is not valid as it is gets a hash,
// so that different texts have different values.
func LabelValue(text string) string {
	if text == "" || len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, text)
	kept = strings.Trim(kept[:min(len(kept), keptBytes)], "-_.")
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:LabelHashDigits]
	if kept == "" {
		return hash
	}
	return kept + "-" + hash
}
