// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// Counts is a [Summary] with plain numbers.
type Counts struct {
	Pass, Fail, Warn, Error, Skip int64
}

// Counts returns the numbers of s, with zero for those that were left out. A nil
// summary has only zeros.
func (s *Summary) Counts() Counts {
	if s == nil {
		return Counts{}
	}
	return Counts{
		Pass:  valueOf(s.Pass),
		Fail:  valueOf(s.Fail),
		Warn:  valueOf(s.Warn),
		Error: valueOf(s.Error),
		Skip:  valueOf(s.Skip),
	}
}

// Summary returns c with every number written out, also the zeros.
func (c Counts) Summary() *Summary {
	return &Summary{Pass: &c.Pass, Fail: &c.Fail, Warn: &c.Warn, Error: &c.Error, Skip: &c.Skip}
}

// Count counts results by outcome. Results without a valid outcome aren't counted.
func Count(results []Result) Counts {
	var counts Counts
	for i := range results {
		counts.Add(results[i].Result)
	}
	return counts
}

// Add counts one result. Without a valid outcome it isn't counted.
func (c *Counts) Add(outcome Outcome) {
	switch outcome {
	case OutcomePass:
		c.Pass++
	case OutcomeFail:
		c.Fail++
	case OutcomeWarn:
		c.Warn++
	case OutcomeError:
		c.Error++
	case OutcomeSkip:
		c.Skip++
	}
}

func valueOf(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}
