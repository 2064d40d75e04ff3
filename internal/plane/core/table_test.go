// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestTables: what kubectl get prints.
func TestTables(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	const namespaced = "/api/v1/namespaces/tables/"
	for _, test := range []struct{ path, object, header, row string }{
		{"/api/v1/namespaces", `{"metadata":{"name":"x"}}`, "Name Status Age", "x Active *"},
		{namespaced + "configmaps", `{"metadata":{"name":"x"},"data":{"a":"b"},"binaryData":{"c":"ZA=="}}`, "Name Data Age", "x 2 *"},
		{namespaced + "secrets", `{"metadata":{"name":"x"},"stringData":{"a":"b"}}`, "Name Type Data Age", "x Opaque 1 *"},
		{
			namespaced + "services", `{"metadata":{"name":"x"},"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":53,"protocol":"UDP"}]}}`,
			"Name Type Cluster-IP External-IP Port(s) Age", "x ClusterIP <none> <none> 80/TCP,53/UDP *",
		},
		{
			namespaced + "services", `{"metadata":{"name":"x"},"spec":{"type":"ExternalName","externalName":"example.com"}}`,
			"Name Type Cluster-IP External-IP Port(s) Age", "x ExternalName <none> example.com <none> *",
		},
		{
			namespaced + "pods", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
			"Name Ready Status Restarts Age", "x 0/1 Pending 0 *",
		},
		{
			"/api/v1/nodes", `{"metadata":{"name":"x","labels":{"node-role.kubernetes.io/worker":""}},"spec":{"unschedulable":true}}`,
			"Name Status Roles Age Version", "x Unknown,SchedulingDisabled worker * ",
		},
		{
			"/apis/apps/v1/namespaces/tables/deployments",
			`{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
			"Name Ready Up-to-date Available Age", "x 0/1 0 0 *",
		},
		{
			namespaced + "events",
			`{"metadata":{"name":"x"},"involvedObject":{"kind":"Pod","name":"p","namespace":"tables"},"type":"Warning","reason":"Bad","message":"m"}`,
			"Last Seen Type Reason Object Message Name", "<unknown> Warning Bad pod/p m x",
		},
		{"/apis/coordination.k8s.io/v1/namespaces/tables/leases", `{"metadata":{"name":"x"},"spec":{"holderIdentity":"me"}}`, "Name Holder Age", "x me *"},
		{namespaced + "serviceaccounts", `{"metadata":{"name":"x"}}`, "Name Age", "x *"},
	} {
		code, _, body := server.request(t, "POST", test.path, test.object)
		if code != 201 {
			t.Fatalf("%s: %d %s", test.path, code, body)
		}
		_, _, body = server.request(t, "GET", test.path+"?fieldSelector=metadata.name=x", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		var table metav1.Table
		if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 1 {
			t.Fatalf("%s: %v %s", test.path, err, body)
		}
		var header, row []string
		for i, column := range table.ColumnDefinitions {
			header = append(header, column.Name)
			if cell := table.Rows[0].Cells[i]; column.Name == "Age" {
				row = append(row, "*")
			} else {
				row = append(row, fmt.Sprint(cell))
			}
		}
		testkit.NoDiff(t, cmp.Diff([]string{test.header, test.row}, []string{strings.Join(header, " "), strings.Join(row, " ")}), "%s (-want +got)", test.path)
		if code, _, body := server.request(t, "DELETE", test.path+"/x", ""); code != 200 {
			t.Errorf("delete %s: %d %s", test.path, code, body)
		}
	}
}
