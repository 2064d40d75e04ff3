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
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFormulasAreText: the console's export is tested with the same cells.
func TestFormulasAreText(t *testing.T) {
	t.Parallel()
	data := testkit.Must(os.ReadFile("testdata/formulas.json"))(t)
	var cells map[string]string
	testkit.NoError(t, json.Unmarshal(data, &cells))
	for cell, want := range cells {
		var out strings.Builder
		w := testkit.Must(newCSV(&out))(t)
		result := &v1alpha1.PolicyResult{}
		result.Namespace, result.Message = cell, cell
		testkit.NoError(t, w.Write(result))
		testkit.NoError(t, w.Close())
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][1] != want || rows[1][15] != want {
			t.Errorf("%q became %q, %v; want %q", cell, rows, err, want)
		}
	}
}
