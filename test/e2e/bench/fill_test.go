// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/docket-project/docket/test/e2e/workload"
)

// podsPerRequest are written to etcd in one transaction, which may have 128 operations.
const podsPerRequest = 100

// fillLargePods writes n pods into the etcd of a kube-apiserver, as that would, which is quicker than to
// create them and to update their status. Their namespaces have to be there. It returns the average size as JSON.
func fillLargePods(ctx context.Context, etcdURL string, n int) (size int, err error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdURL}, Logger: zap.NewNop()})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for from := 0; from < n; from += podsPerRequest {
		group.Go(func() error {
			var puts []clientv3.Op
			for i := from; i < min(from+podsPerRequest, n); i++ {
				var data strings.Builder
				pod := workload.LargePod(i)
				if err := encoder.Encode(pod, &data); err != nil {
					return err
				}
				puts = append(puts, clientv3.OpPut("/registry/pods/"+pod.Namespace+"/"+pod.Name, data.String()))
			}
			_, err := client.Txn(ctx).Then(puts...).Commit()
			return err
		})
	}
	const sample = 100
	for i := range sample {
		data, err := json.Marshal(workload.LargePod(i * 7))
		if err != nil {
			return 0, err
		}
		size += len(data)
	}
	return size / sample, group.Wait()
}
