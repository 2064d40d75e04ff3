// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// TestFormulasAreText: the console's export is tested with the same cells.
func TestFormulasAreText(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/formulas.json")
	if err != nil {
		t.Fatal(err)
	}
	var cells map[string]string
	if err := json.Unmarshal(data, &cells); err != nil {
		t.Fatal(err)
	}
	for cell, want := range cells {
		var out strings.Builder
		w, err := newCSV(&out)
		if err != nil {
			t.Fatal(err)
		}
		result := &v1alpha1.PolicyResult{}
		result.Namespace, result.Message = cell, cell
		if err := w.Write(result); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][1] != want || rows[1][15] != want {
			t.Errorf("%q became %q, %v; want %q", cell, rows, err, want)
		}
	}
}
