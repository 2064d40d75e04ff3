// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"regexp/syntax"

	"go.yaml.in/yaml/v3"
)

const (
	// stepBytes is what one instruction of a regular expression takes, from the text to the program.
	stepBytes = 256
	// unboundedRepeats is how often random text repeats at most what has no limit, in the library.
	unboundedRepeats = 4096
	// maxRandomBytes is the longest random text that a pattern may stand for.
	maxRandomBytes = 64 << 10
)

// ExpressionBytes returns what a compiled regular expression takes, at most. One that can't be read
// takes nothing: it is an error of the function.
func ExpressionBytes(pattern string) int64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return Times(repeated(parsed, 1), stepBytes) + int64(len(pattern))
}

// RandomBytes returns the length of the longest text that a pattern for random text stands for.
// More than a few thousand letters are more than all: nobody needs them.
func RandomBytes(pattern string) int64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	if longest := Times(repeated(parsed, unboundedRepeats), 4); longest <= maxRandomBytes {
		return longest
	}
	return 2 * maxEvaluationBytes
}

// repeated returns the number of letters and other steps in an expression, if what has no limit is repeated that often.
func repeated(expression *syntax.Regexp, unbounded int64) int64 {
	var within int64
	for _, sub := range expression.Sub {
		within = min(within+repeated(sub, unbounded), 2*maxEvaluationBytes)
	}
	switch expression.Op {
	case syntax.OpLiteral:
		return int64(len(expression.Rune))
	case syntax.OpStar, syntax.OpPlus:
		return Times(within+1, unbounded)
	case syntax.OpRepeat:
		count := int64(expression.Max)
		if count < 0 {
			count = int64(expression.Min) + unbounded
		}
		return Times(within+1, count)
	default:
		return within + 1
	}
}

// YAMLBytes returns what reading a document takes: it may say something once and refer to it a
// million times. One that can't be read takes nothing: it is an error of the function.
func YAMLBytes(content string) int64 {
	// The tree has each thing once.
	if tree := Times(int64(len(content)), ParsedPerByte); tree > maxEvaluationBytes {
		return tree
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(content), &document); err != nil {
		return 0
	}
	left := int64(2 * maxEvaluationBytes)
	measureYAML(&document, 0, &left)
	return 2*maxEvaluationBytes - left
}

// maxYAMLDepth is more than any document has that does not contain itself.
const maxYAMLDepth = 10000

func measureYAML(node *yaml.Node, depth int, left *int64) {
	if node == nil || *left <= 0 {
		return
	}
	if depth > maxYAMLDepth {
		*left = 0
		return
	}
	*left -= ParsedPerByte * (int64(len(node.Value)) + 2)
	measureYAML(node.Alias, depth+1, left)
	for _, child := range node.Content {
		measureYAML(child, depth+1, left)
	}
}
