package managed

import "time"

// UsageHours is the one usage that is metered: a cluster's hours, to its tenant.
const UsageHours = "kubernetes.cluster.hours"

// Hour is a metering row. Cluster and Number are its key, or Cluster and From, so that a row recorded twice is one row: a
// cluster that is made again after its record went counts anew, from another time.
type Hour struct {
	Usage   string `json:"usage"`
	Tenant  string `json:"tenantId"`
	Cluster string `json:"clusterId"`
	// Number counts from 0 at the provider's first acceptance.
	Number int       `json:"number"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	// Quantity is in hours: 1, and of the last row what was left.
	Quantity float64 `json:"quantity"`
}

// Hours are the rows of a cluster from a number on: the hours that are full by now, whatever its state was, and once it
// is deleted the rest. A cluster that was never accepted, or whose pool is not metered, has none.
func (c *Cluster) Hours(from int, now time.Time) []Hour {
	if c.AcceptedAt.IsZero() || !c.Metered {
		return nil
	}
	end := now
	if !c.DeletedAt.IsZero() && c.DeletedAt.Before(now) {
		end = c.DeletedAt
	}
	var rows []Hour
	for number := from; ; number++ {
		start := c.AcceptedAt.Add(time.Duration(number) * time.Hour)
		stop := start.Add(time.Hour)
		if stop.After(end) {
			if c.DeletedAt.IsZero() || !end.Equal(c.DeletedAt) || !start.Before(end) {
				return rows
			}
			stop = end
		}
		rows = append(rows, Hour{
			Usage: UsageHours, Tenant: c.TenantID, Cluster: c.ID, Number: number,
			From: clock(start), To: clock(stop), Quantity: stop.Sub(start).Hours(),
		})
		if stop.Equal(end) && stop.Sub(start) < time.Hour {
			return rows
		}
	}
}
