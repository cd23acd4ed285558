//! A memif of VPP: of the table of messages the few that are needed, and two batches.

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use usnet_vpp::Message;
use usnet_vpp::messages::{
    IfStatusFlags, L2InterfaceVlanTagRewrite, L2PortType, MemifCreateV2, MemifDelete, MemifSocketFilenameAddDelV2,
    SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMtu, SwInterfaceTagAddDel,
};
use usnet_vpp::wire::{Envelope, Header, Writer, write_frame};

/// The id of `sockclnt_create` in every release.
const SOCKCLNT_CREATE: u16 = 15;
/// In front of each message are 16 bytes, of which four are its length.
const FRAME: usize = 16;
/// A number and a name of 64 bytes.
const ENTRY: usize = 66;

/// Creates a memif in a bridge domain, and returns its index.
pub(crate) fn add(api: &str, bd_id: u32, socket_id: u32, socket: &str) -> Result<String, Box<dyn Error>> {
    let mut vpp = Vpp::connect(api)?;
    vpp.request(&MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename: socket.into() })?;
    vpp.request(&MemifCreateV2 { socket_id, ring_size: 1024, ..MemifCreateV2::default() })?;
    let created = vpp.replies()?;
    let index = created.last().and_then(|reply| reply.get(10..14)).ok_or("no index")?;
    let sw_if_index = u32::from_be_bytes(index.try_into()?);
    let tag = format!("usn={socket_id:058}").as_str().try_into()?;
    vpp.request(&SwInterfaceTagAddDel { is_add: true, sw_if_index, tag })?;
    vpp.request(&SwInterfaceSetMtu { sw_if_index, mtu: [1500, 0, 0, 0] })?;
    let port_type = L2PortType::Normal;
    vpp.request(&SwInterfaceSetL2Bridge { rx_sw_if_index: sw_if_index, bd_id, port_type, shg: 0, enable: true })?;
    vpp.request(&L2InterfaceVlanTagRewrite { sw_if_index, ..L2InterfaceVlanTagRewrite::default() })?;
    vpp.request(&SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP })?;
    vpp.replies()?;
    Ok(sw_if_index.to_string())
}

/// Deletes a memif and its socket.
pub(crate) fn del(api: &str, socket_id: u32, sw_if_index: u32) -> Result<(), Box<dyn Error>> {
    let mut vpp = Vpp::connect(api)?;
    vpp.request(&MemifDelete { sw_if_index })?;
    vpp.request(&MemifSocketFilenameAddDelV2 { is_add: false, socket_id, socket_filename: "".into() })?;
    vpp.replies().map(drop)
}

struct Vpp {
    stream: UnixStream,
    client_index: u32,
    /// The reply to the creation of the client, with the table of messages.
    table: Vec<u8>,
    outgoing: Vec<u8>,
    /// How many replies are due.
    due: usize,
}

impl Vpp {
    fn connect(api: &str) -> Result<Self, Box<dyn Error>> {
        let mut stream = UnixStream::connect(api)?;
        let mut outgoing = Vec::new();
        let mut name = [0; 64];
        name.iter_mut().zip(b"ideal").for_each(|(to, from)| *to = *from);
        write_frame(&mut outgoing, SOCKCLNT_CREATE, Header::Context, Envelope::default(), &name);
        stream.write_all(&outgoing)?;
        let table = read(&mut stream)?;
        let client_index = table.get(14..18).ok_or("no index")?;
        let client_index = u32::from_be_bytes(client_index.try_into()?);
        Ok(Self { stream, client_index, table, outgoing: Vec::new(), due: 0 })
    }

    /// Adds a request to those that are sent together.
    fn request<M: Message>(&mut self, message: &M) -> Result<(), Box<dyn Error>> {
        let name = M::name_crc();
        let entries = self.table.get(20..).unwrap_or_default().chunks_exact(ENTRY);
        let is_it = |entry: &&[u8]| entry.get(2..).is_some_and(|text| text.starts_with(name.as_bytes()));
        let entry = entries.into_iter().find(is_it).and_then(|entry| entry.first_chunk()).ok_or(name)?;
        let mut fields = Writer::default();
        message.encode(&mut fields);
        let envelope = Envelope { client_index: self.client_index, context: 0 };
        let id = u16::from_be_bytes(*entry);
        write_frame(&mut self.outgoing, id, Header::ClientAndContext, envelope, &fields.into_bytes());
        self.due += 1;
        Ok(())
    }

    /// Sends what was requested, and returns the replies; none may be a refusal.
    fn replies(&mut self) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        self.stream.write_all(&std::mem::take(&mut self.outgoing))?;
        let mut replies = Vec::new();
        for _ in 0..std::mem::take(&mut self.due) {
            let reply = read(&mut self.stream)?;
            if reply.get(6..10) != Some(&[0; 4]) {
                return Err(format!("VPP refused request {}: {reply:?}", replies.len()).into());
            }
            replies.push(reply);
        }
        Ok(replies)
    }
}

/// One message.
fn read(stream: &mut UnixStream) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut frame = [0; FRAME];
    stream.read_exact(&mut frame)?;
    let length = frame.get(8..12).ok_or("no length")?;
    let mut message = vec![0; usize::try_from(u32::from_be_bytes(length.try_into()?))?];
    stream.read_exact(&mut message)?;
    Ok(message)
}
